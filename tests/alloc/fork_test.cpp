#define BOOST_TEST_MODULE fork
#include <boost/test/unit_test.hpp>

#include "alloc/fork.hpp"
#include "tests/support/allocated.hpp"
#include "tests/support/child.hpp"
#include "tests/support/sanitized.hpp"

#include <atomic>
#include <sys/syscall.h>
#include <thread>
#include <vector>

using namespace allot;

namespace {

pid_t clone_raw() { return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr)); }

using spawn = pid_t (*)();
constexpr spawn all_spawns[] = {fork, _Fork, clone_raw};

constexpr std::size_t sizes[] = {16, 100, 5000, 60000, 200000, 3000000};

// Allocates, checks and frees of every kind; 0 if all was right, else where it was not.
int use_everything(allot_tenant *t) {
    for (allot_tenant *active : {tenant_default(), t}) {
        heap_set_active(active);
        std::uint64_t before = tenant_current(active);
        void *held[60];
        std::size_t bytes = 0;
        for (std::size_t i = 0; i < 60; ++i) {
            held[i] = heap_calloc(1, sizes[i % 6]);
            if (held[i] == nullptr) return 10;
            if (!is_filled(held[i], sizes[i % 6], 0)) return 11;
            std::memset(held[i], 1, sizes[i % 6]);
            bytes += heap_usable_size(held[i]);
        }
        if (tenant_current(active) != before + bytes) return 12;
        if (verify().differences != 0) return 13;
        for (void *p : held) heap_free(p);
        if (tenant_current(active) != before) return 14;
    }
    heap_set_active(tenant_default());
    return verify().differences == 0 ? 0 : 15;
}

struct with_objects : allocated {
    allot_tenant *t = make("/case/t", "40M");
    std::vector<void *> inherited;
    std::uint64_t current = 0;

    with_objects() {
        for (allot_tenant *active : {tenant_default(), t}) {
            heap_set_active(active);
            for (std::size_t size : sizes)
                for (int i = 0; i < 3; ++i) std::memset(inherited.emplace_back(heap_malloc(size)), 7, size);
        }
        heap_set_active(top);
        current = tenant_current(tenant_root());
    }
    ~with_objects() {
        BOOST_TEST(tenant_current(tenant_root()) == current); // whatever the children did
        for (void *p : inherited) {
            BOOST_TEST(is_filled(p, 16, 7));
            heap_free(p);
        }
    }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(a_child_starts_at_zero_however_it_was_made, with_objects) {
    for (spawn by : all_spawns) {
        child_end end = in_child(
            [&] {
                if (heap_set_active(t) != top) return 1;
                if (tenant_current(tenant_root()) != 0) return 2;
                for (void *p : inherited)
                    if (!is_filled(p, 16, 7)) return 3;
                return use_everything(t);
            },
            by);
        BOOST_TEST(end.exited_with(0), "status " << end.status << " " << end.text);
    }
}

// The C API knows no heap; it must not leave this thread's with contexts of the parent's.
BOOST_FIXTURE_TEST_CASE(a_childs_first_call_may_be_one_of_the_tenants, with_objects) {
    for (spawn by : all_spawns) {
        child_end end = in_child(
            [&] {
                if (allot_try_charge(t, 4096) != 0 || allot_tenant_current(nullptr) != 4096) return 1;
                allot_uncharge(t, 4096);
                heap_free(inherited[0]);
                return use_everything(t);
            },
            by);
        BOOST_TEST(end.exited_with(0), "status " << end.status << " " << end.text);
    }
}

BOOST_FIXTURE_TEST_CASE(frees_of_inherited_objects_do_nothing_and_charge_nothing, with_objects) {
    for (spawn by : all_spawns) {
        child_end end = in_child(
            [&] {
                heap_free(inherited[0]); // the first call of all
                for (std::size_t i = 1; i < inherited.size(); ++i) heap_free(inherited[i]);
                if (tenant_current(tenant_root()) != 0) return 1;
                if (heap_owner_of(inherited[1]) != nullptr) return 2;
                void *p = heap_malloc(16); // not one of those
                for (void *q : inherited)
                    if (p == q) return 3;
                heap_free(p);
                return use_everything(t);
            },
            by);
        BOOST_TEST(end.exited_with(0), "status " << end.status << " " << end.text);
    }
}

BOOST_FIXTURE_TEST_CASE(an_inherited_object_is_reallocated_into_one_of_the_childs_own, with_objects) {
    child_end end = in_child([&] {
        for (std::size_t i = 0; i < inherited.size(); ++i) {
            std::size_t size = sizes[i / 3 % 6];
            void *p = heap_realloc(inherited[i], 2 * size);
            if (p == nullptr || p == inherited[i]) return 1;
            if (!is_filled(p, size, 7)) return 2;
            if (heap_owner_of(p) != tenant_default() && heap_owner_of(p) != top) return 3;
            heap_free(p);
        }
        return tenant_current(tenant_root()) == 0 && verify().differences == 0 ? 0 : 4;
    });
    BOOST_TEST(end.exited_with(0), "status " << end.status << " " << end.text);
}

BOOST_FIXTURE_TEST_CASE(children_of_children_start_at_zero_too, with_objects) {
    child_end end = in_child([&] {
        if (int wrong = use_everything(t)) return wrong;
        void *own = heap_malloc(500);
        child_end grandchild = in_child([&] {
            heap_free(own);
            for (void *p : inherited) heap_free(p);
            if (tenant_current(tenant_root()) != 0) return 1;
            return use_everything(t);
        });
        if (!grandchild.exited_with(0)) return 2;
        heap_free(own);
        for (void *p : inherited) heap_free(p);
        return tenant_current(tenant_root()) == 0 ? use_everything(t) : 3;
    });
    BOOST_TEST(end.exited_with(0), "status " << end.status << " " << end.text);
}

BOOST_FIXTURE_TEST_CASE(limits_hold_in_the_child_as_in_the_parent, with_objects) {
    child_end end = in_child([&] {
        heap_set_active(t);
        int count = 0;
        while (heap_malloc(1 << 20) != nullptr) ++count;
        return count;
    });
    BOOST_TEST(end.exited_with(40), "status " << end.status << " " << end.text);
}

// It shares the parent's memory and goes on as the parent.
BOOST_FIXTURE_TEST_CASE(a_vforked_child_allocates_and_frees_as_its_parent, with_objects,
                        *boost::unit_test::precondition(vfork_shares_memory)) {
    void *volatile made = nullptr;
    std::uint64_t before = tenant_current(top);
    for (int i = 0; i < 10; ++i) {
        pid_t child = vfork();
        if (child == 0) {
            heap_free(made);
            made = heap_malloc(3000);
            _exit(made != nullptr ? 0 : 1);
        }
        int status = 0;
        BOOST_TEST_REQUIRE(waitpid(child, &status, 0) == child);
        BOOST_TEST(status == 0);
        BOOST_TEST(tenant_current(top) == before + 3072);
    }
    heap_free(made);
}

BOOST_FIXTURE_TEST_CASE(a_double_free_of_an_inherited_large_block_is_noticed_in_the_child, with_objects) {
    child_end end = in_child([&] {
        heap_free(inherited[15]);
        heap_free(inherited[15]);
        return 0;
    });
    BOOST_TEST(end.aborted());
    BOOST_TEST(end.text.find("double or invalid free") != std::string::npos, end.text);
}

// The thread sanitizer takes what the parent's other threads did before the fork for something that the child races with.
#if !defined(__SANITIZE_THREAD__)
// Other threads are inside the allocator, in all its paths, at every fork: none of their locks or half-made changes may
// matter in the child.
BOOST_FIXTURE_TEST_CASE(a_hundred_forks_while_other_threads_allocate_and_free, with_objects) {
    std::atomic<bool> stop{false};
    std::vector<std::thread> churning;
    std::atomic<void *> mailbox{nullptr};
    for (unsigned n = 0; n < 3; ++n)
        churning.emplace_back([&, n] {
            heap_set_active(n == 0 ? t : tenant_default());
            void *held[64] = {};
            for (unsigned i = n; !stop; i = i * 1664525 + 1013904223) {
                void *&slot = held[i >> 26];
                heap_free(mailbox.exchange(slot));
                slot = heap_malloc(sizes[(i >> 8) % 6] / 2);
            }
            for (void *p : held) heap_free(p);
        });
    int failures = 0;
    for (int i = 0; i < 100 && failures == 0; ++i) {
        child_end end = in_child([&] { return use_everything(t); }, all_spawns[i % 3]);
        failures += !end.exited_with(0);
        BOOST_TEST(end.exited_with(0), "fork " << i << ": status " << end.status << " " << end.text);
    }
    stop = true;
    for (std::thread &thread : churning) thread.join();
    heap_free(mailbox.exchange(nullptr));
}
#endif
