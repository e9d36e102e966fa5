#define BOOST_TEST_MODULE failures
#include <boost/test/unit_test.hpp>

#include "accounting/failures.hpp"

#include "accounting/context_table.hpp"
#include "tests/support/verified.hpp"

#include <string>

using namespace allot;

namespace {

// '+' for each charge that succeeds and '-' for each that fails; all is given back.
std::string run_of(context *c, int charges, std::int64_t bytes = 32) {
    std::string result;
    int charged = 0;
    for (int i = 0; i < charges; ++i) {
        bool fits = charge(c, bytes);
        result += fits ? '+' : '-';
        charged += fits;
    }
    while (charged-- > 0) uncharge(c, bytes);
    return result;
}

} // namespace

BOOST_FIXTURE_TEST_CASE(without_a_plan_nothing_fails_and_nothing_is_counted, verified) {
    tenant &t = *tenant_from(top);
    BOOST_TEST(!failure_is_due(t, 16));
    BOOST_TEST(extra_if_any(t) == nullptr);
    BOOST_TEST(keyed(top, "memory.stat", "injected") == 0u);
}

BOOST_FIXTURE_TEST_CASE(the_planned_charges_fail_and_no_other_whatever_was_held_in_stock, verified) {
    context *c = context_open(obj_cgroup_of(top));
    const struct {
        const char *plan, *result;
    } plans[] = {{"1", "-+++++++"}, {"3", "++-+++++"},        {"3+", "++------"},      {"2-4", "+---++++"},
                 {"9", "++++++++"}, {"above 16", "--------"}, {"above 32", "++++++++"}};
    std::uint64_t failures = 0;
    for (const auto &p : plans) {
        BOOST_TEST_REQUIRE(tenant_set(top, "memory.fail", "none") == 0);
        BOOST_TEST(run_of(c, 8) == "++++++++"); // and leaves a full stock
        BOOST_TEST(c->stock.load() > 0);
        BOOST_TEST_REQUIRE(tenant_set(top, "memory.fail", p.plan) == 0);
        BOOST_TEST(run_of(c, 8) == p.result, p.plan);
        for (const char *at = p.result; *at != '\0'; ++at) failures += *at == '-';
    }
    BOOST_TEST(keyed(top, "memory.stat", "injected") == failures);
    BOOST_TEST(keyed(top, "memory.events", "max") == 0u);
    BOOST_TEST(keyed(top, "memory.events", "oom") == 0u);
    context_close(c);
}

BOOST_FIXTURE_TEST_CASE(a_charge_that_fails_so_leaves_everything_as_it_was, verified) {
    context *c = context_open(obj_cgroup_of(top));
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.fail", "3+") == 0);
    BOOST_TEST(charge(c, 64));
    BOOST_TEST(charge(c, 64));
    std::string peak = get(top, "memory.peak");
    for (int i = 0; i < 1000; ++i) BOOST_TEST_REQUIRE(!charge(c, 65536));
    BOOST_TEST(get(top, "memory.peak") == peak);
    BOOST_TEST(number(top, "memory.current") == 128u);
    BOOST_TEST(usage_of("/case") == 128u);
    uncharge(c, 64);
    uncharge(c, 64);
    context_close(c);
}

BOOST_FIXTURE_TEST_CASE(charges_of_every_kind_count_and_those_of_children_do_not, verified) {
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.fail", "4") == 0);
    context *c = context_open(obj_cgroup_of(top));
    context *below = context_open(obj_cgroup_of(make("/case/a")));
    BOOST_TEST(run_of(below, 8) == "++++++++");
    BOOST_TEST(charge(c, 16));
    BOOST_TEST(context_charge_bytes(c, std::uint64_t{1} << 20));
    BOOST_TEST(charge_bytes(obj_cgroup_of(top), 4096, charge_kind::external));
    BOOST_TEST(!charge_bytes(obj_cgroup_of(top), 4096, charge_kind::external));
    BOOST_TEST(charge_bytes(obj_cgroup_of(top), 4096, charge_kind::external));
    uncharge_bytes(obj_cgroup_of(top), 8192, charge_kind::external);
    context_uncharge_bytes(c, std::uint64_t{1} << 20);
    uncharge(c, 16);
    context_close(c);
    context_close(below);
}

// A refusal that is settled by asking shrinkers and tried again is one charge, not two.
BOOST_FIXTURE_TEST_CASE(a_charge_that_is_tried_again_counts_once, verified) {
    allot_tenant *a = make("/case/a", "4K");
    context *c = context_open(obj_cgroup_of(a));
    BOOST_TEST_REQUIRE(tenant_set(a, "memory.fail", "3") == 0);
    {
        charge_mode_scope insistent(charge_mode::nofail);
        BOOST_TEST(charge(c, 8192)); // refused, and then forced
    }
    uncharge(c, 8192);
    BOOST_TEST(charge(c, 16));
    BOOST_TEST(!charge(c, 16));
    BOOST_TEST(charge(c, 16));
    uncharge(c, 16);
    uncharge(c, 16);
    context_close(c);
}

BOOST_FIXTURE_TEST_CASE(one_that_is_tried_again_where_nothing_is_counted_is_not_taken_for_the_next_elsewhere,
                        verified) {
    context *uncounted = context_open(obj_cgroup_of(make("/case/a", "4K")));
    allot_tenant *b = make("/case/b");
    context *counted = context_open(obj_cgroup_of(b));
    BOOST_TEST_REQUIRE(tenant_set(b, "memory.fail", "1") == 0);
    {
        charge_mode_scope insistent(charge_mode::nofail);
        BOOST_TEST(charge(uncounted, 8192)); // refused, and then forced
    }
    BOOST_TEST(run_of(counted, 3) == "-++");
    uncharge(uncounted, 8192);
    context_close(uncounted);
    context_close(counted);
}

BOOST_FIXTURE_TEST_CASE(a_nofail_charge_fails_too_when_the_plan_says_so, verified) {
    context *c = context_open(obj_cgroup_of(top));
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.fail", "1") == 0);
    charge_mode_scope insistent(charge_mode::nofail);
    BOOST_TEST(!charge(c, 16));
    context_close(c);
}

BOOST_FIXTURE_TEST_CASE(what_failed_in_a_destroyed_tenant_stays_in_the_books_of_its_parent, verified) {
    allot_tenant *a = make("/case/a");
    context *c = context_open(obj_cgroup_of(a));
    BOOST_TEST_REQUIRE(tenant_set(a, "memory.fail", "1") == 0);
    BOOST_TEST(!charge(c, 16));
    BOOST_TEST(tenant_destroy(a) == 0);
    BOOST_TEST(keyed(top, "memory.stat", "injected") == 1u);
    BOOST_TEST(charge(c, 16)); // a plan ends with its tenant
    uncharge(c, 16);
    context_close(c);
}
