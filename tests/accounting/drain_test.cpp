#define BOOST_TEST_MODULE drain
#include <boost/test/unit_test.hpp>

#include "accounting/drain.hpp"

#include "accounting/base/os.hpp"
#include "accounting/charge.hpp"
#include "accounting/context_table.hpp"
#include "tests/support/crowd.hpp"
#include "tests/support/sanitized.hpp"

#include <atomic>
#include <deque>
#include <thread>

using namespace allot;

namespace {

constexpr std::int64_t kib = 1024, mib = kib * kib;

// Three levels with limits, two of whose subtrees are disjoint, and a fourth tree that has nothing to do with them.
std::vector<crowd::level *> plant(crowd &people) {
    crowd::level *top = people.add(nullptr, "/case", 12 * mib);
    crowd::level *a = people.add(top, "/case/a", 8 * mib);
    crowd::level *b = people.add(top, "/case/b", 6 * mib);
    return {people.add(a, "/case/a/one", 6 * mib), people.add(a, "/case/a/two", 5 * mib),
            people.add(b, "/case/b/one", 5 * mib)};
}

struct in_mode {
    membarrier_mode before = os_membarrier_mode();
    explicit in_mode(membarrier_mode mode) { os_set_membarrier_mode(mode); }
    ~in_mode() { os_set_membarrier_mode(before); }
};

// One owner on its fast path, one thread that drains it for no reason, as often as it can: how often was less charged
// than lived? Stops at the first.
std::uint64_t violations_under_forced_drains(allot_tenant *t, std::chrono::milliseconds time) {
    std::atomic<bool> done{false};
    std::atomic<std::uint64_t> violations{0};
    tenant &drained = *tenant_from(t);
    std::thread owner([&] {
        context *c = context_open(obj_cgroup_of(t));
        while (!done) {
            for (int i = 0; i < 100 && !done; ++i) {
                if (!charge(c, 64)) violations++;
                // What lives now is charged, whatever the drainer does meanwhile.
                for (int look = 0; look < 30; ++look)
                    if (usage(drained.counter) < 64) violations++, done = true;
                uncharge(c, 64);
            }
        }
        context_close(c);
    });
    auto end = std::chrono::steady_clock::now() + time;
    while (!done && std::chrono::steady_clock::now() < end) {
        for (int i = 0; i < 1000 && !done; ++i) {
            lock_scope drain(region().drain_lock.word, lock_rank::drain);
            lock_scope registry(region().registry_lock.word, lock_rank::registry);
            drain_subtree_of(drained);
        }
    }
    done = true;
    owner.join();
    return violations;
}

} // namespace

BOOST_FIXTURE_TEST_CASE(the_stock_of_an_idle_thread_is_taken_before_a_charge_is_refused, verified) {
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.max", "1M") == 0);
    context *idle = nullptr;
    std::thread([&] {
        idle = context_open(obj_cgroup_of(top));
        BOOST_TEST(charge(idle, 1024));
        uncharge(idle, 1024);
    }).join(); // it does not close its context: a thread that sleeps for ever
    BOOST_TEST_REQUIRE(usage_of("/case") > 0u);
    context *c = context_open(obj_cgroup_of(top));
    for (int i = 0; i < 1024; ++i) BOOST_TEST_REQUIRE(charge(c, 1024));
    BOOST_TEST(!charge(c, 16));
    BOOST_TEST(keyed(top, "memory.stat", "stock") == 0u);
    for (int i = 0; i < 1024; ++i) uncharge(c, 1024);
    context_close(c);
    context_close(idle);
}

BOOST_FIXTURE_TEST_CASE(a_context_that_was_drained_goes_on_with_stock_once_there_is_room, verified) {
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.max", "1M") == 0);
    context *c = context_open(obj_cgroup_of(top));
    for (int i = 0; i < 16; ++i) BOOST_TEST_REQUIRE(charge(c, 65536));
    BOOST_TEST(!charge(c, 16));
    BOOST_TEST((c->flags & context_sealed) != 0u);
    for (int i = 0; i < 16; ++i) uncharge(c, 65536);
    BOOST_TEST((c->flags & context_sealed) == 0u);
    BOOST_TEST(keyed(top, "memory.stat", "stock") > 0u);
    context_close(c);
}

// Level /case/a refuses first; after its drain /case does, whose stocks lie in a sibling's subtree.
BOOST_FIXTURE_TEST_CASE(a_drain_widens_to_a_higher_level_that_refuses_next, verified) {
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.max", "1M") == 0);
    allot_tenant *a = make("/case/a", "800K");
    allot_tenant *b = make("/case/b");
    context *in_a = context_open(obj_cgroup_of(a));
    context *in_b = context_open(obj_cgroup_of(b));
    BOOST_TEST_REQUIRE(charge(in_b, 256 * kib));
    BOOST_TEST_REQUIRE(keyed(b, "memory.stat", "stock") > 0u);
    BOOST_TEST_REQUIRE(charge(in_a, 512 * kib));
    BOOST_TEST(charge(in_a, 256 * kib));
    BOOST_TEST(number(top, "memory.current") == static_cast<std::uint64_t>(mib));
    BOOST_TEST(!charge(in_a, 16));
    BOOST_TEST(keyed(top, "memory.events.local", "oom") == 1u);
    BOOST_TEST(keyed(a, "memory.events.local", "oom") == 0u);
    uncharge(in_a, 256 * kib);
    uncharge(in_a, 512 * kib);
    uncharge(in_b, 256 * kib);
    context_close(in_a);
    context_close(in_b);
}

BOOST_FIXTURE_TEST_CASE(what_fits_is_never_refused, verified) {
    crowd people(crowd::pools::given);
    people.run(plant(people), 8, crowd_time(1500));
    BOOST_TEST(people.found.refusals == 0u);
    BOOST_TEST(people.found.overshoots == 0u);
    std::uint64_t drains = keyed(top, "memory.events", "max");
    BOOST_TEST(drains > 0u); // there was something to get wrong
    BOOST_TEST(usage_of("/case") == 0u);
    BOOST_TEST_MESSAGE(people.found.operations << " operations, " << drains << " drains");
}

BOOST_FIXTURE_TEST_CASE(no_more_lives_than_a_limit_allows, verified) {
    crowd people(crowd::pools::none);
    people.run(plant(people), 8, crowd_time(1500));
    BOOST_TEST(people.found.refusals > 0u);
    BOOST_TEST(people.found.overshoots == 0u);
    BOOST_TEST(usage_of("/case") == 0u);
    BOOST_TEST_MESSAGE(people.found.operations << " operations, " << people.found.refusals << " refusals");
}

BOOST_FIXTURE_TEST_CASE(without_membarrier_operations_are_exact_and_nothing_is_refused_falsely, verified) {
    in_mode unavailable(membarrier_mode::unavailable);
    crowd people(crowd::pools::given);
    people.run(plant(people), 4, crowd_time(500));
    BOOST_TEST(people.found.refusals == 0u);
    BOOST_TEST(usage_of("/case") == 0u);
    crowd greedy(crowd::pools::none);
    greedy.run(plant(greedy), 4, crowd_time(500));
    BOOST_TEST(greedy.found.overshoots == 0u);
}

BOOST_FIXTURE_TEST_CASE(forbidding_membarrier_takes_all_stocks_and_seals, verified) {
    context *c = context_open(obj_cgroup_of(top));
    BOOST_TEST_REQUIRE(charge(c, 1024));
    BOOST_TEST_REQUIRE(keyed(top, "memory.stat", "stock") > 0u);
    membarrier_mode before = os_membarrier_mode();
    accounting_seccomp_seen();
    BOOST_TEST(keyed(top, "memory.stat", "stock") == 0u);
    BOOST_TEST(charge(c, 1024));
    BOOST_TEST(keyed(top, "memory.stat", "stock") == 0u);
    os_set_membarrier_mode(before);
    uncharge(c, 1024);
    uncharge(c, 1024);
    context_close(c);
}

BOOST_FIXTURE_TEST_CASE(forced_drains_never_take_what_lives, verified) {
    BOOST_TEST(violations_under_forced_drains(top, crowd_time(1000)) == 0u);
}

// The control: a drain that only pretends to order its loads must be seen to take what lives, else the case above shows
// nothing. Needs two processors (on one, a context switch is the barrier), which the test has for itself, and code of
// which a window of nanoseconds is not a needle in a haystack: sanitizers lengthen everything else.
BOOST_FIXTURE_TEST_CASE(without_the_barrier_a_drain_takes_what_lives, verified,
                        *boost::unit_test::precondition(is_built_for_speed)) {
    if (std::thread::hardware_concurrency() < 2) return;
    in_mode pretended(membarrier_mode::pretended);
    BOOST_TEST(violations_under_forced_drains(top, std::chrono::seconds(60)) > 0u);
}

namespace {

// A thread that charges and uncharges the same again and again, counting refusals, until it is told to end.
struct repeating {
    std::atomic<bool> &done;
    std::uint64_t refusals = 0, charges = 0;
    std::thread thread;

    repeating(std::atomic<bool> &until, allot_tenant *t, std::int64_t bytes)
        : done(until), thread([this, t, bytes] {
              context *c = context_open(obj_cgroup_of(t));
              while (!done) {
                  // As the paths of the allocator, but unsettled: nothing is written of a refusal.
                  bool fits = context_charge(*c, net_of(bytes, 1)) || context_charge_slow(c, net_of(bytes, 1));
                  if (fits) uncharge(c, bytes);
                  ++(fits ? charges : refusals);
              }
              context_close(c);
          }) {}
    repeating(const repeating &) = delete;
    repeating &operator=(const repeating &) = delete;
};

// A thread whose charge never fits at an upper level, and has been made at the lower ones before that is known: for a moment
// they look full. It is done as a slow path does it, under the context's lock, and nothing else, so that the moment is most
// of the time.
struct never_fitting {
    std::thread thread;

    never_fitting(const std::atomic<bool> &done, allot_tenant *t, std::int64_t bytes)
        : thread([&done, t, bytes] {
              context *c = context_open(obj_cgroup_of(t));
              while (!done) {
                  lock_scope own(c->lock, lock_rank::context);
                  if (tree_try_charge(*tenant_from(t), static_cast<std::uint64_t>(bytes)) == nullptr) std::abort();
              }
              context_close(c);
          }) {}
};

} // namespace

// All of them together fit, so nobody is ever refused. One that begins to hold stock while a drain goes on, which does not
// know of it, would take what the drain's charge needs. Small ones are many, so that some wake up amid a drain.
BOOST_FIXTURE_TEST_CASE(who_begins_to_hold_stock_amid_a_drain_gets_none, verified) {
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.max", "1M") == 0);
    std::atomic<bool> done{false};
    {
        repeating large(done, make("/case/a"), mib - 128);
        std::deque<repeating> small;
        for (int i = 0; i < 8; ++i) small.emplace_back(done, make(("/case/" + std::to_string(i)).c_str()), 16);
        std::this_thread::sleep_for(crowd_time(1500));
        done = true;
        large.thread.join();
        for (repeating &r : small) {
            r.thread.join();
            BOOST_TEST(r.refusals == 0u);
        }
        BOOST_TEST(large.refusals == 0u);
        BOOST_TEST(large.charges > 0u);
    }
}

// The levels in between make the moment longer in which the lower one looks full.
BOOST_FIXTURE_TEST_CASE(a_charge_that_a_higher_level_will_refuse_is_no_reason_to_refuse_another, verified) {
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.max", "1M") == 0);
    std::string path = "/case";
    for (int depth = 0; depth < 26; ++depth) path += "/between";
    allot_tenant *lower = make(path.c_str(), "1200K");
    allot_tenant *b = make((path + "/b").c_str());
    std::atomic<bool> done{false};
    never_fitting never(done, b, 1100 * kib);
    {
        repeating fits(done, make((path + "/a").c_str()), 512 * kib);
        std::this_thread::sleep_for(crowd_time(1500));
        done = true;
        fits.thread.join();
        never.thread.join();
        BOOST_TEST(fits.refusals == 0u);
        BOOST_TEST(fits.charges > 0u);
    }
    BOOST_TEST(keyed(lower, "memory.events.local", "oom") == 0u);
}

namespace {

// Until somebody waits for a lock, or it does not matter any more; `alone` is what the word was when nobody did.
void wait_for_a_waiter(const lock_word &lock, std::uint32_t alone, const std::atomic<bool> &done) {
    while (lock == alone && !done) os_yield();
}

} // namespace

// As above, but the upper level is the first to refuse, for a neighbour's stock; the lower one, which had room, does so once
// that is taken, for by then the other charge is on its way. Who waits for whom makes it happen in this order.
BOOST_FIXTURE_TEST_CASE(nor_is_it_once_the_higher_level_has_been_drained, verified) {
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.max", "1M") == 0);
    allot_tenant *lower = make("/case/lower", "1200K"), *a = make("/case/lower/a"), *b = make("/case/lower/b");
    context *neighbour = context_open(obj_cgroup_of(make("/case/neighbour")));
    BOOST_TEST_REQUIRE(charge(neighbour, 16));
    BOOST_TEST_REQUIRE(usage_of("/case/neighbour") > 4u * kib);
    context *of_b = context_open(obj_cgroup_of(b));
    std::atomic<bool> go{false}, is_on_its_way{false}, is_done{false}, is_charged{false};

    lock_take(neighbour->lock, lock_rank::context); // the drain waits for it
    std::uint32_t neighbours_alone = neighbour->lock;
    std::thread fits([&] {
        context *c = context_open(obj_cgroup_of(a));
        net_word d = net_of(mib - 4 * kib, 1);
        is_charged = context_charge(*c, d) || context_charge_slow(c, d);
        is_done = true;
        if (is_charged) uncharge(c, mib - 4 * kib);
        context_close(c);
    });
    std::thread never_fits([&] {
        while (!go) os_yield();
        lock_scope own(of_b->lock, lock_rank::context);
        std::uint32_t alone = of_b->lock;
        if (tree_try_charge(*tenant_from(b), 1100 * kib, tenant_from(top)) != nullptr) std::abort();
        is_on_its_way = true;
        wait_for_a_waiter(of_b->lock, alone, is_done);
        tree_uncharge(*tenant_from(b), 1100 * kib, tenant_from(top));
    });
    wait_for_a_waiter(neighbour->lock, neighbours_alone, is_done);
    go = true;
    while (!is_on_its_way) os_yield();
    lock_give(neighbour->lock, lock_rank::context);
    never_fits.join();
    fits.join();
    BOOST_TEST(is_charged);
    BOOST_TEST(keyed(lower, "memory.events.local", "max") == 0u);
    uncharge(neighbour, 16);
    context_close(neighbour);
    context_close(of_b);
}

BOOST_FIXTURE_TEST_CASE(a_refusal_where_nobody_holds_stock_seals_and_counts_nobody, verified) {
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.max", "64K") == 0);
    allot_tenant *a = make("/case/a");
    context *c = context_open(obj_cgroup_of(a));
    context *neighbour = context_open(obj_cgroup_of(make("/neighbour")));
    BOOST_TEST_REQUIRE(charge(neighbour, 16));
    BOOST_TEST_REQUIRE(charge(c, 64 * kib));
    BOOST_TEST(!charge(c, 16)); // takes what there is, which is nothing
    const page_counter &counter = tenant_from(a)->counter;
    BOOST_TEST(counter.nr_holding.load() == 0u);
    net_word hi = neighbour->hi.load();
    for (int i = 0; i < 1000; ++i) BOOST_TEST_REQUIRE(!charge(c, 16));
    BOOST_TEST(counter.nr_holding.load() == 0u);
    BOOST_TEST(neighbour->hi.load() == hi); // nobody has looked at it
    BOOST_TEST(keyed(top, "memory.events.local", "oom") == 1001u);
    uncharge(c, 64 * kib);
    BOOST_TEST_REQUIRE(charge(c, 16)); // and a batch ahead
    BOOST_TEST(counter.nr_holding.load() == 1u);
    BOOST_TEST(tenant_from(top)->counter.nr_holding.load() == 1u);
    uncharge(c, 16);
    uncharge(neighbour, 16);
    context_close(c);
    context_close(neighbour);
    destroy_below("/neighbour");
}

// A drain takes over what handlers could not give back, while the handle that it was charged to ends.
BOOST_FIXTURE_TEST_CASE(a_handle_may_end_amid_a_drain, verified) {
    constexpr int handles = 3000;
    std::atomic<bool> done{false};
    {
        repeating refused(done, make("/case/full", "0"), 16);
        for (int i = 0; i < handles; ++i) {
            allot_tenant *t = make("/case/t");
            std::uint32_t handle = obj_cgroup_get(t);
            BOOST_TEST_REQUIRE(charge_bytes(handle, 4096, charge_kind::external));
            {
                lock_scope amid(direct_lock_of(tenant_from(t)->index), lock_rank::direct);
                uncharge_bytes(handle, 4096, charge_kind::external);
            }
            BOOST_TEST_REQUIRE(tenant_destroy(t) == 0);
            obj_cgroup_put(handle);
        }
        done = true;
        refused.thread.join();
        BOOST_TEST(refused.charges == 0u);
    }
    BOOST_TEST(usage_of("/case") == 0u);
}

// A free in a handler that interrupted one of our own functions cannot give anything back, and its context is not counted as
// holding. The test plays the interrupted function by holding a lock.
BOOST_FIXTURE_TEST_CASE(what_a_handler_frees_amid_a_slow_path_is_no_reason_to_refuse_another, verified) {
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.max", "64K") == 0);
    context *c = context_open(obj_cgroup_of(make("/case/a")));
    context *other = context_open(obj_cgroup_of(make("/case/b")));
    for (int i = 0; i < 16; ++i) BOOST_TEST_REQUIRE(charge(c, 4096));
    BOOST_TEST(!charge(other, 16)); // and nobody holds stock any more
    {
        lock_word interrupted{0};
        lock_scope held(interrupted, lock_rank::growth);
        uncharge(c, 4096);
    }
    BOOST_TEST(usage_of("/case") == 64u * kib);
    BOOST_TEST(tenant_from(top)->counter.nr_holding.load() == 0u);
    BOOST_TEST(charge(other, 4096));
    BOOST_TEST(!charge(other, 16));
    BOOST_TEST(region().handlers_left.load() == 0u);
    for (int i = 0; i < 15; ++i) uncharge(c, 4096);
    uncharge(other, 4096);
    context_close(c);
    context_close(other);
}
