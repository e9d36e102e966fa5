#define BOOST_TEST_MODULE external
#include <boost/test/unit_test.hpp>

#include "accounting/external.hpp"

#include "accounting/base/os.hpp"
#include "accounting/obj_cgroup.hpp"
#include "accounting/tenant_extra.hpp"
#include "tests/support/child.hpp"
#include "tests/support/verified.hpp"

#include <atomic>
#include <cerrno>
#include <string>
#include <thread>
#include <vector>

using namespace allot;

namespace {

std::uint32_t record_of_tenant(const allot_tenant *t) { return tenant_from(t)->index; }

} // namespace

BOOST_FIXTURE_TEST_CASE(what_is_charged_by_a_handle_is_given_back_by_it, verified) {
    allot_tenant *a = verified::make("/case/a", "10000");
    BOOST_TEST(external_charge(a, 8000) == 0);
    BOOST_TEST(external_charge(a, 2001) == -ENOMEM);
    BOOST_TEST(external_charge(a, ~std::uint64_t{0}) == -ENOMEM);
    BOOST_TEST(external_held(*tenant_from(a)) == 8000u);
    external_uncharge(a, 3000);
    BOOST_TEST(external_held(*tenant_from(a)) == 5000u);
    BOOST_TEST(keyed(top, "memory.stat", "external") == 5000u);
    external_uncharge(a, 6000); // cut
    BOOST_TEST(external_held(*tenant_from(a)) == 0u);
    BOOST_TEST(keyed(top, "memory.stat", "external") == 0u);
}

// Its record would be the first to be used again, and then nobody knew whose parent is to be credited.
BOOST_FIXTURE_TEST_CASE(a_destroyed_tenant_is_known_until_everything_is_given_back, verified) {
    std::uint64_t anomalies = region().anomalies.load();
    allot_tenant *a = make("/case/a"), *b = make("/case/a/b");
    std::uint32_t record = record_of_tenant(b);
    BOOST_TEST(external_charge(b, 8000) == 0);
    BOOST_TEST(external_charge(a, 500) == 0);
    BOOST_TEST(tenant_destroy(b) == 0);
    BOOST_TEST(tenant_destroy(b) == -ESTALE);
    BOOST_TEST(external_charge(b, 1) == -ESTALE);
    for (int i = 0; i < 100; ++i)
        BOOST_TEST_REQUIRE(record_of_tenant(make(("/case/others/" + std::to_string(i)).c_str())) != record);
    BOOST_TEST(tenant_destroy(a) == 0);
    destroy_below("/case/others");
    BOOST_TEST(keyed(top, "cgroup.stat", "nr_dying_descendants") == 2u);
    BOOST_TEST(keyed(top, "memory.stat", "external") == 8500u);
    external_uncharge(a, 500);
    external_uncharge(b, 7000);
    BOOST_TEST(number(top, "memory.current") == 1000u);
    external_uncharge(b, 1000);
    BOOST_TEST(number(top, "memory.current") == 0u);
    BOOST_TEST(region().anomalies.load() == anomalies);
    BOOST_TEST(keyed(top, "cgroup.stat", "nr_dying_descendants") == 0u);
}

BOOST_FIXTURE_TEST_CASE(records_are_used_again_once_nothing_is_held, verified) {
    for (int round = 0; round < 300; ++round) {
        allot_tenant *a = make("/case/a");
        BOOST_TEST_REQUIRE(external_charge(a, 100) == 0);
        BOOST_TEST_REQUIRE(tenant_destroy(a) == 0);
        external_uncharge(a, 100);
        if (round < 10) continue;
        static std::uint32_t tenants = record_count<tenant>(), extras = record_count<tenant_extra>();
        BOOST_TEST_REQUIRE(record_count<tenant>() == tenants);
        BOOST_TEST_REQUIRE(record_count<tenant_extra>() == extras);
    }
    BOOST_TEST(usage_of("/case") == 0u);
}

// What is given back twice, or by something that is no handle, takes nothing from an heir or from the root.
BOOST_FIXTURE_TEST_CASE(by_a_handle_that_stands_for_nothing_nobody_is_credited, verified) {
    std::uint64_t anomalies = region().anomalies.load();
    allot_tenant *a = make("/case/a");
    BOOST_TEST(external_charge(top, 4096) == 0);
    BOOST_TEST(external_charge(tenant_root(), 4096) == 0);
    BOOST_TEST(external_charge(a, 4096) == 0);
    BOOST_TEST(tenant_destroy(a) == 0);
    external_uncharge(a, 4096);
    external_uncharge(a, 4096);
    make("/case/b");
    external_uncharge(a, 4096);
    external_uncharge(reinterpret_cast<allot_tenant *>(std::uintptr_t{0xdeadbeef12345678}), 4096);
    BOOST_TEST(region().anomalies.load() == anomalies + 3);
    BOOST_TEST(keyed(top, "memory.stat", "external") == 4096u);
    BOOST_TEST(keyed(tenant_root(), "memory.stat", "external") == 8192u);
    external_uncharge(top, 4096);
    external_uncharge(tenant_root(), 4096);
}

BOOST_FIXTURE_TEST_CASE(the_root_holds_nothing, verified) {
    BOOST_TEST(external_charge(tenant_root(), 4096) == 0);
    BOOST_TEST(external_held(root_tenant()) == 0u);
    external_uncharge(tenant_root(), 4096);
}

BOOST_FIXTURE_TEST_CASE(amid_our_own_code_nothing_is_charged_and_what_is_given_back_is_credited, verified) {
    allot_tenant *a = make("/case/a");
    BOOST_TEST(external_charge(a, 4096) == 0);
    {
        lock_word interrupted{0};
        lock_scope held(interrupted, lock_rank::growth);
        BOOST_TEST(external_charge(a, 4096) == -ENOMEM);
        external_uncharge(a, 4096);
    }
    BOOST_TEST(number(a, "memory.current") == 0u);
}

// Tenants end at any moment of a charge that others make by their handles; whoever is credited, all is zero in the end.
BOOST_FIXTURE_TEST_CASE(charges_and_the_ends_of_their_tenants_race, verified) {
    constexpr int nr_threads = 3;
    std::uint64_t anomalies = region().anomalies.load();
    std::atomic<bool> done{false};
    std::atomic<allot_tenant *> now{make("/case/t")};
    std::atomic<std::uint64_t> outlived{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < nr_threads; ++i)
        threads.emplace_back([&] {
            while (!done) {
                allot_tenant *t = now;
                if (external_charge(t, 4096) != 0) continue;
                for (int spin = 0; spin < 100; ++spin) os_pause();
                if (t != now) ++outlived;
                external_uncharge(t, 4096);
            }
        });
    for (int i = 0; i < 20000 || outlived < 100; ++i) {
        allot_tenant *old = now;
        BOOST_TEST_REQUIRE(tenant_destroy(old) == 0);
        now = make("/case/t");
    }
    done = true;
    for (std::thread &t : threads) t.join();
    BOOST_TEST(usage_of("/case") == 0u);
    BOOST_TEST(region().anomalies.load() == anomalies);
    BOOST_TEST(keyed(top, "cgroup.stat", "nr_dying_descendants") == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_child_holds_nothing_of_its_parents, verified) {
    allot_tenant *a = make("/case/a"), *b = make("/case/b");
    BOOST_TEST(external_charge(a, 4096) == 0);
    BOOST_TEST(external_charge(b, 4096) == 0);
    BOOST_TEST(tenant_destroy(b) == 0);
    child_end end = in_child([&] {
        accounting_child_start();
        if (external_held(*tenant_from(a)) != 0 || tenant_current(top) != 0) return 1;
        if (tenant_create_path("/case/b") == nullptr || external_charge(b, 1) != -ESTALE) return 2;
        return verify().differences == 0 ? 0 : 3;
    });
    BOOST_TEST(end.exited_with(0));
    external_uncharge(a, 4096);
    external_uncharge(b, 4096);
}
