#define BOOST_TEST_MODULE settle
#include <boost/test/unit_test.hpp>

#include "accounting/settle.hpp"

#include "accounting/context_table.hpp"
#include "accounting/obj_cgroup.hpp"
#include "tests/support/verified.hpp"

using namespace allot;

namespace {

constexpr std::int64_t kib = 1024;

bool attempt(context *c, std::int64_t bytes) {
    return context_charge(*c, net_of(bytes, 1)) || context_charge_slow(c, net_of(bytes, 1));
}

} // namespace

BOOST_FIXTURE_TEST_CASE(a_refused_charge_leaves_who_asked_for_how_much_and_which_level_had_no_room, verified) {
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.max", "64K") == 0);
    std::uint32_t owner = obj_cgroup_of(make("/case/a"));
    context *c = context_open(owner);
    BOOST_TEST(!settle_is_due());
    BOOST_TEST(!attempt(c, 65552));
    BOOST_TEST(settle_is_due());
    BOOST_TEST(keyed(top, "memory.events.local", "max") == 1u);
    BOOST_TEST(keyed(top, "memory.events.local", "oom") == 0u); // nobody has said that it is final
    refusal left;
    refusal_take(*c, left);
    BOOST_TEST((left.kind == refusal_kind::limit));
    BOOST_TEST(left.asked == owner);
    BOOST_TEST(left.bytes == 65552u);
    BOOST_TEST(left.level_depth == 1u);
    BOOST_TEST(!settle_refusal(left));
    BOOST_TEST(!settle_is_due());
    BOOST_TEST(keyed(top, "memory.events.local", "oom") == 1u);
    refusal_take(*c, left); // there is nothing left
    BOOST_TEST((left.kind == refusal_kind::none));
    BOOST_TEST(!settle_refusal(left));
    BOOST_TEST(keyed(top, "memory.events.local", "oom") == 1u);
    context_close(c);
}

BOOST_FIXTURE_TEST_CASE(a_level_that_is_destroyed_before_its_refusal_is_settled_is_stood_for_by_its_parent, verified) {
    allot_tenant *a = make("/case/a", "64K");
    context *c = context_open(obj_cgroup_of(a));
    BOOST_TEST(!attempt(c, 65552));
    refusal left;
    refusal_take(*c, left);
    BOOST_TEST(tenant_destroy(a) == 0);
    BOOST_TEST(!settle_refusal(left));
    BOOST_TEST(keyed(top, "memory.events.local", "oom") == 1u);
    context_close(c);
}

BOOST_FIXTURE_TEST_CASE(a_nofail_charge_goes_over_the_limit_once_nothing_else_helps, verified) {
    allot_tenant *a = make("/case/a", "64K");
    context *c = context_open(obj_cgroup_of(a));
    BOOST_TEST_REQUIRE(charge(c, 60 * kib));
    {
        charge_mode_scope insistent(charge_mode::nofail);
        BOOST_TEST(charge(c, 16 * kib));
    }
    BOOST_TEST(number(a, "memory.current") == 76u * kib);
    BOOST_TEST(number(a, "memory.peak") == 76u * kib);
    BOOST_TEST(keyed(a, "memory.events.local", "max") >= 1u);
    BOOST_TEST(keyed(a, "memory.events.local", "oom") == 0u);
    BOOST_TEST(keyed(a, "memory.stat", "forced") == 16u * kib);
    BOOST_TEST(!charge(c, 16)); // until usage is below max again
    uncharge(c, 16 * kib);
    BOOST_TEST(charge(c, 4 * kib));
    uncharge(c, 4 * kib);
    uncharge(c, 60 * kib);
    context_close(c);
}

BOOST_FIXTURE_TEST_CASE(an_atomic_charge_goes_over_the_limit_at_once_and_takes_nobodys_stock, verified) {
    allot_tenant *a = make("/case/a", "1M");
    context *other = context_open(obj_cgroup_of(a));
    context *c = context_open(obj_cgroup_of(a));
    BOOST_TEST_REQUIRE(charge(other, 16)); // and a batch ahead
    std::int64_t stock = other->stock.load();
    BOOST_TEST_REQUIRE(stock > 16);
    {
        charge_mode_scope hurry(charge_mode::atomic);
        BOOST_TEST(charge(c, 1024 * kib));
    }
    BOOST_TEST(other->stock.load() == stock);
    BOOST_TEST(keyed(a, "memory.events.local", "max") == 1u);
    BOOST_TEST(keyed(a, "memory.events.local", "oom") == 0u);
    BOOST_TEST(keyed(a, "memory.stat", "forced") == 1024u * kib);
    uncharge(c, 1024 * kib);
    uncharge(other, 16);
    context_close(c);
    context_close(other);
}

BOOST_FIXTURE_TEST_CASE(a_nowait_charge_takes_stocks_and_is_refused_without_a_policy, verified) {
    allot_tenant *a = make("/case/a", "1M");
    BOOST_TEST_REQUIRE(tenant_set(a, "memory.oom.policy", "abort") == 0);
    context *other = context_open(obj_cgroup_of(a));
    context *c = context_open(obj_cgroup_of(a));
    BOOST_TEST_REQUIRE(charge(other, 16));
    charge_mode_scope hurry(charge_mode::nowait);
    BOOST_TEST(charge(c, 1024 * kib - 16)); // fits only without the other's stock
    BOOST_TEST(!charge(c, 16));
    BOOST_TEST(keyed(a, "memory.events.local", "oom") == 1u);
    uncharge(c, 1024 * kib - 16);
    uncharge(other, 16);
    context_close(c);
    context_close(other);
}

BOOST_FIXTURE_TEST_CASE(external_bytes_know_the_same_modes, verified) {
    allot_tenant *a = make("/case/a", "64K");
    std::uint32_t owner = obj_cgroup_of(a);
    BOOST_TEST(charge_bytes(owner, 64 * kib, charge_kind::external));
    refusal left;
    BOOST_TEST(!charge_bytes(owner, 4 * kib, charge_kind::external, left));
    BOOST_TEST((left.kind == refusal_kind::limit));
    BOOST_TEST(!settle_refusal(left));
    {
        charge_mode_scope insistent(charge_mode::nofail);
        BOOST_TEST(charge_bytes(owner, 4 * kib, charge_kind::external));
    }
    {
        charge_mode_scope hurry(charge_mode::atomic);
        BOOST_TEST(charge_bytes(owner, 8 * kib, charge_kind::large));
    }
    BOOST_TEST(number(a, "memory.current") == 76u * kib);
    BOOST_TEST(keyed(a, "memory.stat", "forced") == 12u * kib);
    BOOST_TEST(keyed(a, "memory.events.local", "max") == 4u); // the refused one, nofail's two attempts, atomic's
    BOOST_TEST(keyed(a, "memory.events.local", "oom") == 1u);
    uncharge_bytes(owner, 8 * kib, charge_kind::large);
    uncharge_bytes(owner, 68 * kib, charge_kind::external);
}

BOOST_FIXTURE_TEST_CASE(what_was_forced_in_a_tenant_that_is_destroyed_stays_in_the_books_of_its_parent, verified) {
    allot_tenant *a = make("/case/a", "4K");
    context *c = context_open(obj_cgroup_of(a));
    {
        charge_mode_scope hurry(charge_mode::atomic);
        BOOST_TEST(charge(c, 16 * kib));
    }
    BOOST_TEST(tenant_destroy(a) == 0);
    BOOST_TEST(keyed(top, "memory.stat", "forced") == 16u * kib);
    uncharge(c, 16 * kib);
    context_close(c);
}

BOOST_FIXTURE_TEST_CASE(a_charge_that_leaves_a_level_above_high_is_due_for_a_visit, verified) {
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.high", "64K") == 0);
    context *c = context_open(obj_cgroup_of(make("/case/a")));
    BOOST_TEST(attempt(c, 16));
    BOOST_TEST(attempt(c, 1024 * kib));
    BOOST_TEST(settle_is_due());
    settle_charge(*c);
    BOOST_TEST(!settle_is_due());
    BOOST_TEST(keyed(top, "memory.events.local", "high") == 1u);
    uncharge(c, 1024 * kib);
    uncharge(c, 16);
    context_close(c);
}

// --- headroom ---------------------------------------------------------------------------------------------------------

BOOST_FIXTURE_TEST_CASE(a_refusal_lets_small_charges_of_its_thread_use_headroom_until_there_is_room_again, verified) {
    allot_tenant *a = make("/case/a", "64K");
    BOOST_TEST_REQUIRE(tenant_set(a, "memory.headroom", "8K") == 0);
    context *c = context_open(obj_cgroup_of(a));
    BOOST_TEST_REQUIRE(charge(c, 64 * kib));
    BOOST_TEST(!charge(c, 4096)); // never the refused request itself
    BOOST_TEST(charge(c, 4096));
    BOOST_TEST(!charge(c, 4112)); // not what is large
    BOOST_TEST(charge(c, 4096));
    for (int i = 0; i < 100; ++i) BOOST_TEST_REQUIRE(!charge(c, 16)); // a runaway is stopped by the bound
    BOOST_TEST(number(a, "memory.current") == 72u * kib);
    BOOST_TEST(keyed(a, "memory.stat", "headroom") == 2u);
    uncharge(c, 4096);
    uncharge(c, 4096);
    uncharge(c, 16 * kib);
    BOOST_TEST(charge(c, 8 * kib)); // fits: what was armed is not any more
    BOOST_TEST(charge(c, 8 * kib));
    BOOST_TEST(charges_here.armed == 0u);
    BOOST_TEST(!charge(c, 4096));
    uncharge(c, 64 * kib);
    context_close(c);
}

BOOST_FIXTURE_TEST_CASE(headroom_is_for_charges_below_the_level_that_refused, verified) {
    allot_tenant *a = make("/case/a", "64K");
    allot_tenant *b = make("/case/b", "64K");
    BOOST_TEST_REQUIRE(tenant_set(b, "memory.headroom", "8K") == 0);
    context *of_a = context_open(obj_cgroup_of(a));
    context *of_b = context_open(obj_cgroup_of(b));
    BOOST_TEST_REQUIRE(charge(of_b, 64 * kib));
    BOOST_TEST(!charge(of_a, 128 * kib)); // arms a
    BOOST_TEST(!charge(of_b, 16));        // which is not b's; but this arms b
    BOOST_TEST(charge(of_b, 16));
    uncharge(of_b, 16);
    uncharge(of_b, 64 * kib);
    context_close(of_a);
    context_close(of_b);
}

BOOST_FIXTURE_TEST_CASE(an_emergency_scope_uses_headroom_of_every_level_for_charges_of_any_size, verified) {
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.max", "64K") == 0);
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.headroom", "32K") == 0);
    allot_tenant *a = make("/case/a", "48K");
    BOOST_TEST_REQUIRE(tenant_set(a, "memory.headroom", "48K") == 0);
    context *c = context_open(obj_cgroup_of(a));
    BOOST_TEST_REQUIRE(charge(c, 48 * kib));
    emergency_begin();
    emergency_begin();
    BOOST_TEST(charge(c, 32 * kib));
    BOOST_TEST(charge(c, 16 * kib));
    BOOST_TEST(!charge(c, 16)); // both are full
    emergency_end();
    uncharge(c, 16 * kib);
    BOOST_TEST(charge(c, 16 * kib)); // still in the outer one
    emergency_end();
    charges_here.armed = 0;
    uncharge(c, 16);
    BOOST_TEST(!charge(c, 16));
    uncharge(c, 96 * kib - 16);
    context_close(c);
}

BOOST_FIXTURE_TEST_CASE(a_refused_mapping_arms_headroom_too, verified) {
    allot_tenant *a = make("/case/a", "64K");
    BOOST_TEST_REQUIRE(tenant_set(a, "memory.headroom", "8K") == 0);
    std::uint32_t owner = obj_cgroup_of(a);
    BOOST_TEST(charge_bytes(owner, 64 * kib, charge_kind::external));
    BOOST_TEST(!charge_bytes(owner, 4096, charge_kind::external));
    BOOST_TEST(charge_bytes(owner, 4096, charge_kind::external));
    uncharge_bytes(owner, 68 * kib, charge_kind::external);
    charges_here.armed = 0;
}
