#define BOOST_TEST_MODULE direct
#include <boost/test/unit_test.hpp>

#include "accounting/direct.hpp"

#include "accounting/obj_cgroup.hpp"
#include "tests/support/verified.hpp"

#include <thread>
#include <vector>

using namespace allot;

namespace {
constexpr std::uint64_t mib = 1 << 20;
}

BOOST_FIXTURE_TEST_CASE(bytes_are_charged_and_shown_by_kind, verified) {
    std::uint32_t handle = obj_cgroup_of(top);
    BOOST_TEST(charge_bytes(handle, 3 * mib, charge_kind::large));
    BOOST_TEST(charge_bytes(handle, 5000, charge_kind::external));
    BOOST_TEST(keyed(top, "memory.stat", "large") == 3 * mib);
    BOOST_TEST(keyed(top, "memory.stat", "external") == 5000u);
    BOOST_TEST(number(top, "memory.current") == 3 * mib + 5000);
    uncharge_bytes(handle, 3 * mib, charge_kind::large);
    uncharge_bytes(handle, 5000, charge_kind::external);
    BOOST_TEST(usage_of("/case") == 0u);
}

BOOST_FIXTURE_TEST_CASE(giving_back_more_than_was_charged_is_clamped_and_counted, verified) {
    std::uint32_t handle = obj_cgroup_of(top);
    BOOST_TEST(charge_bytes(handle, 1000, charge_kind::external));
    BOOST_TEST(charge_bytes(handle, mib, charge_kind::large));
    std::uint64_t anomalies = region().anomalies.load();
    uncharge_bytes(handle, 5000, charge_kind::external);
    BOOST_TEST(region().anomalies.load() == anomalies + 1);
    BOOST_TEST(number(top, "memory.current") == mib);
    uncharge_bytes(handle, mib, charge_kind::large);
}

BOOST_FIXTURE_TEST_CASE(stocks_are_drained_for_bytes_too, verified) {
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.max", "2M") == 0);
    context *c = context_open(obj_cgroup_of(top));
    BOOST_TEST_REQUIRE(charge(c, 4096));
    BOOST_TEST(usage_of("/case") > 4096u);
    BOOST_TEST(charge_bytes(obj_cgroup_of(top), 2 * mib - 4096, charge_kind::large));
    BOOST_TEST(!charge_bytes(obj_cgroup_of(top), 1, charge_kind::external));
    BOOST_TEST(!charge(c, 16));
    uncharge_bytes(obj_cgroup_of(top), 2 * mib - 4096, charge_kind::large);
    uncharge(c, 4096);
    context_close(c);
}

BOOST_FIXTURE_TEST_CASE(bytes_of_a_destroyed_tenant_are_given_back_by_its_parent, verified) {
    allot_tenant *a = make("/case/a");
    std::uint32_t handle = obj_cgroup_of(a);
    obj_cgroup_grab(handle);
    BOOST_TEST(charge_bytes(handle, mib, charge_kind::external));
    BOOST_TEST_REQUIRE(tenant_destroy(a) == 0);
    BOOST_TEST(keyed(top, "memory.stat", "external") == mib);
    uncharge_bytes(handle, mib, charge_kind::external);
    obj_cgroup_put(handle);
    BOOST_TEST(usage_of("/case") == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_moved_charge_asks_only_the_levels_that_are_new_to_it, verified) {
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.max", "1M") == 0);
    std::uint32_t a = obj_cgroup_of(make("/case/a"));
    std::uint32_t b = obj_cgroup_of(make("/case/b", "512K"));
    context *c = context_open(a);
    for (int i = 0; i < 16; ++i) BOOST_TEST_REQUIRE(charge(c, 65536)); // top is full
    context_close(c);
    for (int i = 0; i < 8; ++i) BOOST_TEST(transfer_charge(a, b, 65536, 1));
    BOOST_TEST(!transfer_charge(a, b, 65536, 1)); // b is full
    BOOST_TEST(usage_of("/case") == mib);
    BOOST_TEST(usage_of("/case/b") == mib / 2);
    BOOST_TEST(keyed(tenant_of(b), "memory.stat", "objects") == 8u);
    BOOST_TEST(keyed(tenant_of(b), "memory.events.local", "oom") == 1u);
    for (std::uint32_t handle : {a, b}) {
        context *freer = context_open(handle);
        for (int i = 0; i < 8; ++i) uncharge(freer, 65536);
        context_close(freer);
    }
}

// What a signal handler cannot uncharge at once is taken by whoever uncharges next.
BOOST_FIXTURE_TEST_CASE(deferred_bytes_are_taken, verified) {
    std::uint32_t handle = obj_cgroup_of(top);
    BOOST_TEST(charge_bytes(handle, 4 * mib, charge_kind::large));
    record_at<struct obj_cgroup>(handle).deferred_large = mib;
    uncharge_bytes(handle, mib, charge_kind::large);
    BOOST_TEST(number(top, "memory.current") == 2 * mib);
    record_at<struct obj_cgroup>(handle).deferred_large = mib;
    region().nr_deferred = 1;
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.max", "2M") == 0);
    BOOST_TEST(charge_bytes(handle, mib, charge_kind::external)); // fits only with them
    uncharge_bytes(handle, mib, charge_kind::external);
    uncharge_bytes(handle, mib, charge_kind::large);
}

BOOST_FIXTURE_TEST_CASE(threads_that_charge_at_a_limit_leave_nothing_behind, verified) {
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.max", "8M") == 0);
    std::uint32_t handles[] = {obj_cgroup_of(make("/case/a", "5M")), obj_cgroup_of(make("/case/b", "5M"))};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            for (unsigned i = 0; i < 5000; ++i) {
                std::uint32_t handle = handles[(i + t) % 2];
                std::uint64_t bytes = mib * (1 + i % 3) + 4096 * t;
                if (charge_bytes(handle, bytes, charge_kind::large)) uncharge_bytes(handle, bytes, charge_kind::large);
            }
        });
    for (std::thread &t : threads) t.join();
    BOOST_TEST(usage_of("/case") == 0u);
}
