#define BOOST_TEST_MODULE context_table
#include <boost/test/unit_test.hpp>

#include "accounting/context_table.hpp"

#include "accounting/base/os.hpp"
#include "accounting/obj_cgroup.hpp"
#include "tests/support/verified.hpp"

#include <thread>

using namespace allot;

BOOST_FIXTURE_TEST_CASE(closing_gives_the_stock_back_and_leaves_what_lives_charged, verified) {
    context *c = context_open(obj_cgroup_of(top));
    BOOST_TEST_REQUIRE(charge(c, 4096));
    BOOST_TEST(usage_of("/case") > 4096u);
    context_close(c);
    BOOST_TEST(usage_of("/case") == 4096u);
    BOOST_TEST(keyed(top, "memory.stat", "slab") == 4096u);
    BOOST_TEST(keyed(top, "memory.stat", "objects") == 1u);
    context *other = context_open(obj_cgroup_of(top));
    uncharge(other, 4096);
    context_close(other);
    BOOST_TEST(usage_of("/case") == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_parked_context_holds_no_stock_and_is_used_on_by_another_thread, verified) {
    context *c = nullptr;
    std::thread([&] {
        c = context_open(obj_cgroup_of(top));
        BOOST_TEST(charge(c, 1024));
        context_park(c);
    }).join();
    BOOST_TEST(usage_of("/case") == 1024u);
    BOOST_TEST(charge(c, 1024));
    BOOST_TEST(number(top, "memory.current") == 2048u);
    uncharge(c, 1024);
    uncharge(c, 1024);
    context_close(c);
}

BOOST_FIXTURE_TEST_CASE(each_level_counts_the_contexts_below_it, verified) {
    allot_tenant *a = make("/case/a");
    context *one = context_open(obj_cgroup_of(a));
    context *two = context_open(obj_cgroup_of(top));
    BOOST_TEST(tenant_from(top)->counter.nr_contexts.load() == 2u);
    BOOST_TEST(tenant_from(a)->counter.nr_contexts.load() == 1u);
    BOOST_TEST_REQUIRE(tenant_destroy(a) == 0);
    BOOST_TEST(tenant_from(top)->counter.nr_contexts.load() == 2u);
    context_close(one);
    context_close(two);
    BOOST_TEST(tenant_from(top)->counter.nr_contexts.load() == 0u);
}

BOOST_FIXTURE_TEST_CASE(folding_changes_the_books_and_not_the_charge, verified) {
    context *c = context_open(obj_cgroup_of(top));
    for (int i = 0; i < 10; ++i) BOOST_TEST_REQUIRE(charge(c, 256));
    std::uint64_t before = usage_of("/case");
    context_fold(c);
    BOOST_TEST(c->net.load() == 0);
    BOOST_TEST(usage_of("/case") == before);
    BOOST_TEST(number(top, "memory.current") == 2560u);
    BOOST_TEST(keyed(top, "memory.stat", "objects") == 10u);
    for (int i = 0; i < 10; ++i) uncharge(c, 256);
    context_close(c);
}

// Objects and bytes share a word; so many small ones against few large ones would run one half into the other, were the
// word not folded in between.
BOOST_FIXTURE_TEST_CASE(many_small_objects_against_few_large_ones_stay_exact, verified) {
    context *c = context_open(obj_cgroup_of(top));
    for (int round = 0; round < 4; ++round) {
        for (int i = 0; i < 65536; ++i) BOOST_TEST_REQUIRE(charge(c, 16));
        for (int i = 0; i < 256; ++i) uncharge(c, 4096);
        context_fold(c);
    }
    BOOST_TEST(number(top, "memory.current") == 0u);
    BOOST_TEST(keyed(top, "memory.stat", "objects") == 4u * (65536 - 256));
    context_close(c);
}

BOOST_FIXTURE_TEST_CASE(records_are_used_again, verified) {
    std::uint32_t count = record_count<context_record>();
    for (int i = 0; i < 1000; ++i) context_close(context_open(obj_cgroup_of(top)));
    BOOST_TEST(record_count<context_record>() <= count + 1);
}

BOOST_FIXTURE_TEST_CASE(a_context_of_what_is_no_handle_is_not_opened, verified) {
    BOOST_TEST((context_open(0) == nullptr));
    BOOST_TEST((context_open(0xfffffff0) == nullptr));
}

// A handler that interrupted one of our own functions may wait for nothing. What it cannot close stays in the books.
BOOST_FIXTURE_TEST_CASE(under_a_lock_no_context_is_opened_closed_or_parked, verified) {
    context *c = context_open(obj_cgroup_of(top));
    BOOST_TEST_REQUIRE(charge(c, 4096));
    lock_take(region().registry_lock.word, lock_rank::registry);
    BOOST_TEST((context_open(obj_cgroup_of(top)) == nullptr));
    context_park(c);
    context_close(c);
    lock_give(region().registry_lock.word, lock_rank::registry);
    BOOST_TEST(number(top, "memory.current") == 4096u);
    BOOST_TEST(verify().differences == 0u);
    uncharge(c, 4096);
    context_close(c);
}

// Of one who begins to hold stock and one who begins a drain at the same moment, either the first sees the drain and holds
// nothing, or the drain sees that there is somebody to visit. In some rounds one is the first, in some the other, in most
// both are at once.
BOOST_FIXTURE_TEST_CASE(who_begins_to_hold_stock_sees_a_drain_or_is_seen_by_it, verified) {
    constexpr unsigned rounds = 4000;
    tenant &t = *tenant_from(top);
    context *c = context_open(obj_cgroup_of(top));
    std::atomic<unsigned> begun{0}, ended{0};
    std::uint64_t allowed = 0;
    auto wait_for = [](const std::atomic<unsigned> &step, unsigned number) {
        for (unsigned looks = 1; step.load() != number; ++looks) looks % 1024 == 0 ? os_yield() : os_pause();
    };
    std::thread holder([&] {
        for (unsigned r = 1; r <= rounds; ++r) {
            wait_for(begun, r);
            lock_take(c->lock, lock_rank::context);
            allowed = context_begin_holding(*c, t, 4096);
            ended = r;
            wait_for(begun, 0);
            context_settle_holding(*c, t); // which it does not, in the end
            lock_give(c->lock, lock_rank::context);
            ended = 0;
        }
    });
    auto drain = [&t] {
        region().draining.store(t.index, std::memory_order_seq_cst);
        return t.counter.nr_holding.load(std::memory_order_seq_cst);
    };
    unsigned unseen = 0, held = 0;
    for (unsigned r = 1; r <= rounds; ++r) {
        std::uint32_t seen = r % 16 == 0 ? drain() : 0;
        begun = r;
        if (r % 16 == 1) wait_for(ended, r);
        if (r % 16 != 0) seen = drain();
        wait_for(ended, r);
        held += allowed != 0;
        unseen += allowed != 0 && seen == 0;
        region().draining.store(0);
        begun = 0;
        wait_for(ended, 0);
    }
    holder.join();
    BOOST_TEST(unseen == 0u);
    BOOST_TEST(held >= rounds / 16);
    BOOST_TEST(held <= rounds - rounds / 16);
    context_close(c);
}

// Without it, what begins to hold while a drain goes on would be stock that the drain does not know of. The test plays the
// drain, since the moment is too short to be met by chance.
BOOST_FIXTURE_TEST_CASE(below_a_tenant_that_is_being_drained_nobody_begins_to_hold_stock, verified) {
    allot_tenant *drained = make("/case/drained");
    context *below = context_open(obj_cgroup_of(make("/case/drained/a")));
    context *beside = context_open(obj_cgroup_of(make("/case/b")));
    region().draining.store(tenant_from(drained)->index);
    BOOST_TEST(charge(below, 16)); // exactly that
    BOOST_TEST(charge(beside, 16));
    region().draining.store(0);
    BOOST_TEST(below->stock.load() == 0);
    BOOST_TEST(has_flag(*below, context_sealed));
    BOOST_TEST(!has_flag(*below, context_holding));
    BOOST_TEST(has_flag(*beside, context_holding));
    BOOST_TEST(tenant_from(drained)->counter.nr_holding.load() == 0u);
    BOOST_TEST(tenant_from(top)->counter.nr_holding.load() == 1u);
    BOOST_TEST(charge(below, 16));
    BOOST_TEST(has_flag(*below, context_holding));
    for (context *c : {below, below, beside}) uncharge(c, 16);
    context_park(below);
    context_close(beside);
    BOOST_TEST(tenant_from(top)->counter.nr_holding.load() == 0u);
    context_close(below);
}
