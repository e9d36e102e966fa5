#define BOOST_TEST_MODULE switches
#include <boost/test/unit_test.hpp>

#include "alloc/active.hpp"
#include "alloc/switches.hpp"
#include "tests/support/allocated.hpp"
#include "tests/support/sanitized.hpp"

#include <atomic>
#include <csignal>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

using namespace allot;

namespace {

struct of_tenants : allocated {
    std::vector<allot_tenant *> tenants;

    void make_tenants(std::size_t count) {
        for (std::size_t i = 0; i < count; ++i)
            tenants.push_back(make(("/case/t" + std::to_string(tenants.size())).c_str()));
    }
    ~of_tenants() { heap_set_active(top); }

    static bool is_known(allot_tenant *t) {
        switch_entry known;
        return home_here()->switches != nullptr && switch_known(home_here()->switches, t, known) &&
               known.of->front == known.front && hooks::heap_serves(known.of->account, t);
    }
    // Owner and bill agree that it is t who is worked for.
    static bool allocates_for(allot_tenant *t) {
        std::uint64_t used = tenant_current(t);
        void *p = heap_malloc(64);
        bool is_his = heap_owner_of(p) == t && tenant_current(t) == used + heap_usable_size(p);
        heap_free(p);
        return is_his && heap_active() == t && tenant_current(t) == used;
    }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(a_tenant_that_was_chosen_is_known, of_tenants) {
    make_tenants(3);
    BOOST_TEST(!is_known(tenants[0]));
    for (int round = 0; round < 3; ++round)
        for (allot_tenant *t : tenants) {
            heap_set_active(t);
            BOOST_TEST(is_known(t));
            BOOST_TEST(allocates_for(t));
        }
}

BOOST_FIXTURE_TEST_CASE(handles_of_one_set_displace_the_one_that_came_first, of_tenants) {
    make_tenants(switch_table::nr_sets * 3 + 1);
    std::vector<allot_tenant *> same;
    for (allot_tenant *t : tenants)
        if (home_here()->switches == nullptr ||
            home_here()->switches->set_of(t) == home_here()->switches->set_of(tenants[0])) {
            if (same.empty()) heap_set_active(tenants[0]);
            same.push_back(t);
        }
    BOOST_TEST_REQUIRE(same.size() >= 3u);
    same.resize(3);
    for (allot_tenant *t : same) heap_set_active(t);
    BOOST_TEST(!is_known(same[0]));
    BOOST_TEST(is_known(same[1]));
    BOOST_TEST(is_known(same[2]));
    for (int round = 0; round < 3; ++round)
        for (allot_tenant *t : same) {
            heap_set_active(t);
            BOOST_TEST(allocates_for(t));
        }
}

BOOST_FIXTURE_TEST_CASE(what_is_known_of_a_tenant_that_is_gone_leads_to_its_parent, of_tenants) {
    allot_tenant *parent = make("/case/p"), *child = make("/case/p/c"), *other = make("/case/o");
    for (allot_tenant *t : {child, parent, other}) heap_set_active(t);
    heap_set_active(child);
    BOOST_TEST(tenant_destroy(child) == 0);
    BOOST_TEST(heap_set_active(other) == parent); // whom the thread has worked for since
    BOOST_TEST(heap_set_active(child) == other);
    BOOST_TEST(allocates_for(parent));
    BOOST_TEST(heap_set_active(other) == parent);
    BOOST_TEST(!heap_malloc_in_known(child, 64));
    allot_tenant *again = make("/case/p/c");
    BOOST_TEST(again != child);
    heap_set_active(again);
    BOOST_TEST(allocates_for(again));
    heap_set_active(child);
    BOOST_TEST(allocates_for(parent));
}

BOOST_FIXTURE_TEST_CASE(another_tenants_end_leaves_what_is_known_true, of_tenants) {
    make_tenants(4);
    for (int round = 0; round < 20; ++round) {
        allot_tenant *passing = make("/case/passing");
        for (allot_tenant *t : tenants) {
            heap_set_active(t);
            BOOST_TEST(allocates_for(t));
        }
        BOOST_TEST(tenant_destroy(passing) == 0);
        for (std::size_t i = 0; i < tenants.size(); ++i)
            BOOST_TEST(heap_set_active(tenants[i]) == tenants[(i + tenants.size() - 1) % tenants.size()]);
    }
}

BOOST_FIXTURE_TEST_CASE(null_is_the_root_and_known_as_such, of_tenants) {
    make_tenants(1);
    for (int round = 0; round < 3; ++round) {
        heap_set_active(nullptr);
        BOOST_TEST(allocates_for(tenant_root()));
        BOOST_TEST(heap_set_active(tenants[0]) == tenant_root());
        BOOST_TEST(allocates_for(tenants[0]));
    }
    BOOST_TEST(is_known(tenant_root()));
}

BOOST_FIXTURE_TEST_CASE(in_an_unaccounted_scope_nothing_is_switched_but_what_follows_it, of_tenants) {
    make_tenants(2);
    for (allot_tenant *t : tenants) heap_set_active(t);
    heap_unaccounted_begin();
    BOOST_TEST(heap_set_active(tenants[0]) == tenants[1]);
    void *p = heap_malloc(100);
    BOOST_TEST(heap_owner_of(p) == tenant_root());
    BOOST_TEST(!heap_malloc_in_known(tenants[1], 100));
    heap_unaccounted_end();
    heap_free(p);
    BOOST_TEST(allocates_for(tenants[0]));
}

BOOST_FIXTURE_TEST_CASE(a_block_for_a_known_tenant_needs_no_switch, of_tenants) {
    make_tenants(2);
    for (allot_tenant *t : tenants) { // until it has slabs of its own
        heap_set_active(t);
        for (int i = 0; i < 200; ++i) heap_free(heap_malloc(64));
    }
    for (allot_tenant *t : tenants) {
        void *p = heap_malloc_in_known(t, 64);
        BOOST_TEST_REQUIRE(p);
        BOOST_TEST(heap_owner_of(p) == t);
        BOOST_TEST(tenant_current(t) == heap_usable_size(p));
        BOOST_TEST(allocates_for(tenants[1]));
        heap_free(p);
    }
    BOOST_TEST(tenant_set(tenants[0], "memory.max", "0") == 0);
    BOOST_TEST(!heap_malloc_in_known(tenants[0], 64)); // whoever refuses does so on a slow path
    BOOST_TEST(tenant_current(tenants[0]) == 0u);
}

BOOST_FIXTURE_TEST_CASE(tenants_end_while_other_threads_switch_among_them, of_tenants) {
    constexpr int rounds = 300;
    make_tenants(8);
    std::atomic<allot_tenant *> passing{nullptr};
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> wrong{0};
    std::vector<std::thread> switching;
    for (int n = 0; n < 3; ++n)
        switching.emplace_back([&] {
            while (!stop) {
                for (allot_tenant *t : tenants) {
                    heap_set_active(t);
                    void *p = heap_malloc(48);
                    if (heap_owner_of(p) != t) wrong++;
                    heap_free(p);
                }
                heap_set_active(passing); // it may end before, meanwhile and afterwards
                void *p = heap_malloc(48);
                allot_tenant *owner = heap_owner_of(p);
                for (allot_tenant *t : tenants)
                    if (owner == t) wrong++;
                heap_free(p);
            }
            heap_set_active(top);
        });
    for (int i = 0; i < rounds; ++i) {
        passing = make("/case/passing");
        std::this_thread::yield();
        BOOST_TEST_REQUIRE(tenant_destroy(passing) == 0);
    }
    stop = true;
    for (std::thread &t : switching) t.join();
    BOOST_TEST(wrong == 0u);
}

BOOST_FIXTURE_TEST_CASE(moves_of_a_thread_that_switches_are_served_or_overruled_and_never_lost, of_tenants) {
    make_tenants(2);
    allot_tenant *to = make("/case/to");
    std::atomic<std::uint32_t> id{0};
    std::atomic<bool> stop{false}, rests{false};
    std::thread other([&] {
        id = home_here()->thread_id.load();
        while (!stop)
            for (allot_tenant *t : tenants) {
                heap_set_active(t);
                heap_free(heap_malloc(32));
            }
        heap_set_active(tenants[0]);
        rests = true;
        while (heap_active() != to) std::this_thread::yield();
        heap_set_active(top);
    });
    while (id == 0) std::this_thread::yield();
    for (int i = 0; i < 500; ++i) BOOST_TEST_REQUIRE(adopt_ask(id, to));
    stop = true;
    while (!rests) std::this_thread::yield();
    BOOST_TEST(adopt_ask(id, to));
    other.join();
}

#if defined(__x86_64__)

// A handler that runs at each instruction of a switch; not with a sanitizer, whose own instructions must not be interrupted by one.
namespace {

constexpr greg_t trap_flag = 0x100;
void set_traps() { __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc"); }
void clear_traps() { __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc"); }

struct stepping {
    void (*at)(std::uint64_t step, greg_t *registers);
    std::uint64_t steps;
};
stepping now{};

void handle(int, siginfo_t *, void *interrupted) {
    now.at(now.steps++, static_cast<ucontext_t *>(interrupted)->uc_mcontext.gregs);
}

struct stepped : of_tenants {
    struct sigaction before {};
    stepped() {
        struct sigaction action {};
        action.sa_sigaction = handle;
        action.sa_flags = SA_SIGINFO;
        sigaction(SIGTRAP, &action, &before);
    }
    ~stepped() { sigaction(SIGTRAP, &before, nullptr); }

    static allot_tenant *step_to(allot_tenant *t, void (*at)(std::uint64_t, greg_t *)) {
        now = {at, 0};
        set_traps();
        allot_tenant *was = heap_set_active(t);
        clear_traps();
        return was;
    }
};

allot_tenant *handlers_own = nullptr;
std::vector<allot_tenant *> *many = nullptr;
std::uint64_t wrong = 0;

// Works for somebody else, unless it has come amid a slow path; and goes back.
void visit_another(std::uint64_t, greg_t *) {
    bool is_free = !thread_here.in_home->busy;
    allot_tenant *was = heap_set_active(handlers_own);
    void *p = heap_malloc(1500);
    if (is_free && heap_owner_of(p) != handlers_own) wrong++;
    heap_free(p);
    heap_set_active(was);
}
// So many that heaps are given to others, all that are idle: at one step, since from then on the tenant is not known.
std::uint64_t the_step = 0;
void visit_many(std::uint64_t step, greg_t *) {
    if (step != the_step) return;
    bool is_free = !thread_here.in_home->busy;
    allot_tenant *was = heap_set_active(handlers_own);
    for (std::size_t i = 0; i < 150; ++i) {
        allot_tenant *t = (*many)[(step * 150 + i) % many->size()];
        thread_here.in_home->more_heaps = 0; // however often they have come back
        heap_set_active(t);
        void *p = heap_malloc(1500);
        if (is_free && heap_owner_of(p) != t) wrong++;
        heap_free(p);
    }
    heap_set_active(was);
}

volatile sig_atomic_t in_child = 0;
int children = 0, failed = 0;
void fork_here(std::uint64_t step, greg_t *registers) {
    if (in_child) return;
    pid_t child = _Fork();
    if (child == 0) {
        in_child = 1;
        alarm(30);
        registers[REG_EFL] &= ~trap_flag;
        if (step % 2 != 0)
            for (std::size_t size : {1000, 30000, 400000, 2000, 50000})
                heap_free(heap_malloc(size)); // more than the reserve has
        return;
    }
    int status = -1;
    while (waitpid(child, &status, 0) < 0) {}
    children++;
    if (status != 0) failed++;
}
void count(std::uint64_t, greg_t *) {}

} // namespace

BOOST_FIXTURE_TEST_CASE(a_switch_to_a_known_tenant_is_a_few_instructions, stepped,
                        *boost::unit_test::precondition(is_built_for_speed)) {
    make_tenants(40);
    for (allot_tenant *t : tenants) heap_set_active(t);
    for (int i : {3, 17, 39, 3}) {
        (void)step_to(tenants[static_cast<std::size_t>(i)], count);
#ifdef __OPTIMIZE__
        BOOST_TEST(now.steps <= 51u); // with those that set and clear the flag
#endif
        BOOST_TEST(now.steps >= 20u);
    }
}

BOOST_FIXTURE_TEST_CASE(a_handler_switches_and_switches_back_at_each_instruction, stepped,
                        *boost::unit_test::precondition(is_built_for_speed)) {
    make_tenants(2);
    handlers_own = make("/case/handler");
    wrong = 0;
    heap_set_active(tenants[1]);
    for (int round = 0; round < 6; ++round) { // of the first ones some are slow
        allot_tenant *from = tenants[(round + 1) % 2], *to = tenants[round % 2];
        BOOST_TEST(step_to(to, visit_another) == from);
        BOOST_TEST(allocates_for(to));
    }
    BOOST_TEST(wrong == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_handler_has_heaps_given_to_others_at_each_instruction, stepped,
                        *boost::unit_test::precondition(is_built_for_speed)) {
    make_tenants(2);
    std::vector<allot_tenant *> others;
    for (int i = 0; i < 600; ++i) others.push_back(make(("/case/other" + std::to_string(i)).c_str()));
    many = &others;
    handlers_own = make("/case/handler");
    wrong = 0;
    heap_set_active(tenants[1]);
    for (the_step = 0; the_step < 60; ++the_step) {
        allot_tenant *from = tenants[(the_step + 1) % 2], *to = tenants[the_step % 2];
        for (allot_tenant *t : {to, from}) heap_set_active(t);
        BOOST_TEST(is_known(to));
        BOOST_TEST(step_to(to, visit_many) == from);
        BOOST_TEST(allocates_for(to));
    }
    BOOST_TEST(wrong == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_handler_forks_at_each_instruction_and_the_child_ends_the_switch, stepped,
                        *boost::unit_test::precondition(is_built_for_speed)) {
    make_tenants(2);
    heap_set_active(tenants[0]);
    heap_set_active(tenants[1]);
    children = failed = 0;
    for (int round = 0; round < 4; ++round) {
        allot_tenant *to = tenants[round % 2];
        allot_tenant *was = step_to(to, fork_here);
        if (in_child) {
            int code = was != tenants[(round + 1) % 2] ? 3 : 0;
            void *p = heap_malloc(64);
            if (heap_owner_of(p) != to || heap_active() != to) code = 4;
            heap_free(p);
            if (heap_set_active(tenants[(round + 1) % 2]) != to) code = 5;
            p = heap_malloc(64);
            if (heap_owner_of(p) != tenants[(round + 1) % 2]) code = 6;
            _exit(code);
        }
        BOOST_TEST(allocates_for(to));
    }
    BOOST_TEST(children > 100);
    BOOST_TEST(failed == 0);
}

#endif

// Last: a child of a fork would have to copy all of it.
BOOST_FIXTURE_TEST_CASE(a_hundred_thousand_tenants_take_turns, of_tenants) {
    const std::size_t count = is_sanitized ? 5000 : 100000;
    make_tenants(count);
    for (int round = 0; round < 2; ++round)
        for (std::size_t i = 0; i < count; i += 7) {
            allot_tenant *t = tenants[(i * 31) % count];
            heap_set_active(t);
            void *p = heap_malloc(64);
            BOOST_TEST_REQUIRE(heap_owner_of(p) == t);
            BOOST_TEST_REQUIRE(heap_active() == t);
            heap_free(p);
        }
    heap_set_active(top);
    BOOST_TEST(home_here()->nr_heaps <= 64u + 2048u + 2u);
}
