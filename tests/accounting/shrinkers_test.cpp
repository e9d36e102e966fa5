#define BOOST_TEST_MODULE shrinkers
#include <boost/test/unit_test.hpp>

#include "accounting/shrinkers.hpp"

#include "accounting/base/os.hpp"
#include "accounting/listeners.hpp"
#include "accounting/thread_charges.hpp"
#include "tests/support/cache.hpp"
#include "tests/support/child.hpp"
#include "tests/support/verified.hpp"

#include <atomic>
#include <cerrno>
#include <deque>
#include <thread>
#include <vector>

using namespace allot;

namespace {

constexpr std::uint64_t KiB = 1024, MiB = KiB * 1024;

std::uint64_t in_mib(std::uint64_t bytes) { return (bytes + MiB / 2) / MiB; }

} // namespace

BOOST_FIXTURE_TEST_CASE(without_shrinkers_nothing_is_given, verified) {
    BOOST_TEST(shrink(top, MiB).said == 0u);
    cache elsewhere(make("/case/elsewhere"), MiB);
    BOOST_TEST(shrink(make("/case/a"), MiB).said == 0u);
    BOOST_TEST(elsewhere.counts() == 0u);
}

BOOST_FIXTURE_TEST_CASE(as_much_as_is_asked_for_is_given_and_seen, verified) {
    cache c(make("/case/a"), 4 * MiB);
    shrunk s = shrink(top, MiB);
    BOOST_TEST(s.said == MiB);
    BOOST_TEST(s.seen == MiB);
    BOOST_TEST(c.bytes() == 3 * MiB);
    s = shrink(top, 10 * MiB);
    BOOST_TEST(s.said == 3 * MiB);
    BOOST_TEST(c.bytes() == 0u);
    BOOST_TEST(shrink(top, 1).said == 0u);
}

BOOST_FIXTURE_TEST_CASE(each_gives_in_proportion_to_what_it_has, verified) {
    cache big(make("/case/big"), 6 * MiB), small(make("/case/small"), 2 * MiB);
    shrink(top, 4 * MiB);
    BOOST_TEST(big.bytes() == 3 * MiB);
    BOOST_TEST(small.bytes() == 1 * MiB);
}

// Each of these could be served by the first shrinker alone; object sizes differ by a factor of 64.
BOOST_FIXTURE_TEST_CASE(many_small_reclaims_are_as_fair_as_a_big_one, verified) {
    cache big(make("/case/big"), 24 * MiB, 64 * KiB), small(make("/case/small"), 8 * MiB, 1 * KiB);
    for (std::uint64_t given = 0; given < 16 * MiB;) given += shrink(top, 100).said;
    BOOST_TEST(in_mib(big.bytes()) == 12u);
    BOOST_TEST(in_mib(small.bytes()) == 4u);
}

BOOST_FIXTURE_TEST_CASE(what_min_protects_is_never_taken, verified) {
    allot_tenant *a = make("/case/a");
    cache c(a, 4 * MiB), other(make("/case/b"), 1 * MiB);
    BOOST_TEST(tenant_set(a, "memory.min", "3M") == 0);
    BOOST_TEST(shrink(top, 100 * MiB).said > 0u);
    for (int i = 0; i < 40; ++i) shrink(top, 100 * MiB);
    BOOST_TEST(c.bytes() >= 3 * MiB - 4 * KiB);
    BOOST_TEST(c.bytes() <= 3 * MiB + 64 * KiB);
    BOOST_TEST(other.bytes() == 0u);
    BOOST_TEST(shrink(a, MiB).said == MiB); // aimed at itself
    BOOST_TEST(keyed(a, "memory.events", "low") == 0u);
}

BOOST_FIXTURE_TEST_CASE(what_low_protects_is_taken_when_nothing_else_helps_and_counted, verified) {
    allot_tenant *a = make("/case/a");
    cache protected_one(a, 2 * MiB), other(make("/case/b"), 2 * MiB);
    BOOST_TEST(tenant_set(a, "memory.low", "4M") == 0);
    BOOST_TEST(shrink(top, 2 * MiB).said == 2 * MiB);
    BOOST_TEST(other.bytes() == 0u);
    BOOST_TEST(protected_one.bytes() == 2 * MiB);
    BOOST_TEST(protected_one.scans() == 0u);
    BOOST_TEST(keyed(a, "memory.events", "low") == 0u);
    BOOST_TEST(shrink(top, 1 * MiB).said == 1 * MiB);
    BOOST_TEST(protected_one.bytes() == 1 * MiB);
    BOOST_TEST(keyed(a, "memory.events.local", "low") == protected_one.scans());
    BOOST_TEST(keyed(top, "memory.events", "low") >= 1u);
}

BOOST_FIXTURE_TEST_CASE(that_low_was_broken_is_told, verified) {
    allot_tenant *a = make("/case/a");
    cache c(a, 2 * MiB);
    BOOST_TEST(tenant_set(a, "memory.low", "4M") == 0);
    std::uint64_t lows = 0;
    int id = listener_add(
        top, ALLOT_EVENT_BIT(allot_event_low),
        [](allot_tenant *, allot_event, std::uint64_t n, void *sum) { *static_cast<std::uint64_t *>(sum) += n; },
        &lows);
    shrink(top, MiB);
    BOOST_TEST(lows == keyed(a, "memory.events", "low"));
    BOOST_TEST(lows > 0u);
    BOOST_TEST(listener_remove(id) == 0);
}

// The kernel's own test of protection, through real tenants and caches: A max 200M; B in it is promised 50M; its children
// use 50M each; 148M are wanted beside it.
BOOST_FIXTURE_TEST_CASE(pressure_from_outside_leaves_siblings_their_shares, verified) {
    allot_tenant *a = make("/case/A", "200M"), *b = make("/case/A/B");
    allot_tenant *tc = make("/case/A/B/C"), *td = make("/case/A/B/D"), *te = make("/case/A/B/E");
    BOOST_TEST(tenant_set(b, "memory.min", "50M") == 0);
    BOOST_TEST(tenant_set(tc, "memory.min", "75M") == 0);
    BOOST_TEST(tenant_set(td, "memory.min", "25M") == 0);
    BOOST_TEST(tenant_set(make("/case/A/B/F"), "memory.min", "500M") == 0);
    cache c(tc, 50 * MiB), d(td, 50 * MiB), e(te, 50 * MiB);
    std::uint32_t outside = obj_cgroup_get(make("/case/A/outside"));
    std::uint64_t grown = 0;
    while (grown < 148 * MiB) {
        if (charge_bytes(outside, MiB / 4, charge_kind::external))
            grown += MiB / 4;
        else
            BOOST_TEST_REQUIRE(shrink(a, MiB / 4).said > 0u);
    }
    BOOST_TEST(in_mib(usage_of("/case/A/B")) >= 49u);
    BOOST_TEST(in_mib(usage_of("/case/A/B")) <= 52u);
    BOOST_TEST(in_mib(c.bytes()) >= 27u);
    BOOST_TEST(in_mib(c.bytes()) <= 32u);
    BOOST_TEST(in_mib(d.bytes()) >= 18u);
    BOOST_TEST(in_mib(d.bytes()) <= 24u);
    BOOST_TEST(in_mib(e.bytes()) <= 1u);
    shrink(tc, c.bytes() - 10 * MiB);
    BOOST_TEST(in_mib(c.bytes()) == 10u);
    uncharge_bytes(outside, grown, charge_kind::external);
    obj_cgroup_put(outside);
}

BOOST_FIXTURE_TEST_CASE(one_that_gives_nothing_is_asked_once_and_the_others_give, verified) {
    cache stuck(make("/case/a"), 8 * MiB), gives(make("/case/b"), 1 * MiB);
    stuck.refuses = true;
    BOOST_TEST(shrink(top, 1 * MiB).said == 1 * MiB);
    BOOST_TEST(gives.bytes() == 0u);
    BOOST_TEST(stuck.scans() <= 2u);
    std::uint64_t before = stuck.scans();
    BOOST_TEST(shrink(top, 1 * MiB).said == 0u);
    BOOST_TEST(stuck.scans() - before <= 2u); // once with regard to low, once without
}

BOOST_FIXTURE_TEST_CASE(what_a_shrinker_says_and_did_not_do_is_not_seen, verified) {
    cache liar(make("/case/a"), 2 * MiB);
    liar.lies = true;
    shrunk s = shrink(top, MiB);
    BOOST_TEST(s.said == MiB);
    BOOST_TEST(s.seen == 0u);
}

BOOST_FIXTURE_TEST_CASE(wrong_arguments_and_stale_ids_are_refused, verified) {
    auto count = [](void *) { return std::size_t{0}; };
    auto scan = [](void *, std::size_t) { return std::size_t{0}; };
    BOOST_TEST(shrinker_add(top, nullptr, scan, nullptr) == -EINVAL);
    BOOST_TEST(shrinker_add(top, count, nullptr, nullptr) == -EINVAL);
    allot_tenant *a = make("/case/a");
    int id = shrinker_add(a, count, scan, nullptr);
    BOOST_TEST(listener_remove(id) == -ENOENT);
    BOOST_TEST(tenant_destroy(a) == 0);
    BOOST_TEST(shrinker_add(a, count, scan, nullptr) == -ESTALE);
    BOOST_TEST(shrinker_remove(id) == -ESTALE);
    BOOST_TEST(shrinker_remove(-5) == -ENOENT);
}

// --- from within ------------------------------------------------------------------------------------------------------

namespace {

struct self_ending {
    int id = 0, calls = 0;
    static std::size_t count(void *) { return 4096; }
    static std::size_t scan(void *me, std::size_t) {
        auto &self = *static_cast<self_ending *>(me);
        ++self.calls;
        BOOST_TEST((charges_here.flags & in_user_code) != 0);
        BOOST_TEST(!holds_locks());
        BOOST_TEST(!may_call_user_code());
        BOOST_TEST(shrinker_remove(self.id) == 0);
        BOOST_TEST(tenant_destroy(tenant_create_path("/case/a")) == 0);
        return 4096;
    }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(a_shrinker_may_end_itself_and_its_tenant, verified) {
    self_ending s;
    s.id = shrinker_add(make("/case/a"), self_ending::count, self_ending::scan, &s);
    cache other(make("/case/b"), 64 * KiB);
    BOOST_TEST(shrink(top, 68 * KiB).said == 68 * KiB);
    BOOST_TEST(s.calls == 1);
    BOOST_TEST(shrinker_remove(s.id) == -ESTALE);
}

BOOST_FIXTURE_TEST_CASE(the_tenant_it_is_aimed_at_may_go_meanwhile, verified) {
    static allot_tenant *aimed_at;
    aimed_at = make("/case/a");
    auto count = [](void *) { return std::size_t{4096}; };
    auto scan = [](void *, std::size_t) {
        (void)tenant_destroy(aimed_at);
        return std::size_t{0};
    };
    for (int i = 0; i < 3; ++i) BOOST_TEST_REQUIRE(shrinker_add(aimed_at, count, scan, nullptr) > 0);
    BOOST_TEST(shrink(aimed_at, 4096).said == 0u);
    BOOST_TEST(shrink(aimed_at, 4096).said == 0u);
}

// --- threads and forks ------------------------------------------------------------------------------------------------

BOOST_FIXTURE_TEST_CASE(threads_reclaim_while_caches_come_and_go, verified) {
    std::atomic<bool> stop{false};
    make("/case/a");
    make("/case/b/c");
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i)
        threads.emplace_back([&] {
            while (!stop) shrink(top, 64 * KiB);
        });
    for (int i = 0; i < 150; ++i) {
        cache one(make("/case/a"), MiB), two(make("/case/b/c"), MiB, 64);
        std::this_thread::yield();
        one.end();
        std::uint64_t at_its_end = one.scans();
        std::this_thread::yield();
        BOOST_TEST_REQUIRE(one.scans() == at_its_end);
    }
    stop = true;
    for (std::thread &t : threads) t.join();
}

BOOST_FIXTURE_TEST_CASE(a_child_has_the_shrinkers_of_its_parent, verified) {
    cache c(make("/case/a"), MiB);
    child_end end = in_child([&] {
        accounting_start();
        // The cache is there, as memory; what it is charged is its parent's, so usage does not fall.
        shrunk s = shrink(tenant_create_path("/case"), 64 * KiB);
        return s.said == 64 * KiB && s.seen == 0 && c.scans() != 0 ? 0 : 1;
    });
    BOOST_TEST(end.exited_with(0));
    BOOST_TEST(c.bytes() == MiB);
}

// --- scale ------------------------------------------------------------------------------------------------------------

BOOST_FIXTURE_TEST_CASE(hundreds_of_caches_share_a_small_reclaim_over_time, verified) {
    std::deque<cache> caches;
    for (int i = 0; i < 250; ++i) caches.emplace_back(make(("/case/" + std::to_string(i)).c_str()), 64 * KiB);
    std::uint64_t given = 0;
    for (int i = 0; i < 500; ++i) given += shrink(top, 64).said;
    BOOST_TEST(given >= 500u * 64);
    BOOST_TEST(given <= 500u * 4096);
    for (cache &c : caches) BOOST_TEST_REQUIRE(c.bytes() >= 48 * KiB); // nobody gave much more than others
}
