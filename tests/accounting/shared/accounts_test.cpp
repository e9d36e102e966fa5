#define BOOST_TEST_MODULE shared_accounts
#include <boost/test/unit_test.hpp>

#include "tests/support/shared_tree.hpp"

#include <set>
#include <thread>
#include <vector>

using namespace allot;
using namespace allot::shared;

BOOST_FIXTURE_TEST_CASE(an_account_is_of_a_member_at_a_node_and_used_again_when_it_is_closed, shared_tree) {
    const std::uint32_t a = made("/a");
    const std::uint32_t at = account_open(a);
    BOOST_TEST_REQUIRE(at != 0u);
    BOOST_TEST(node_of(account_at(at)) == a);
    BOOST_TEST(high_of(account_at(at).owner.load()) == this_tag);
    const std::uint32_t generation = account_at(at).generation;
    account_at(at).lines.large.store(5);
    account_at(at).inherited.store(6);
    account_close(at);
    BOOST_TEST(records_of(this_member) == 0u);
    const std::uint32_t again = account_open(root_node);
    BOOST_TEST(again == at);
    BOOST_TEST(account_at(at).generation == generation + 1);
    BOOST_TEST(account_at(at).lines.large.load() == 0);
    BOOST_TEST(account_at(at).inherited.load() == 0);
}

BOOST_FIXTURE_TEST_CASE(a_stamp_outlives_the_owner_of_its_record, shared_tree) {
    const std::uint32_t at = account_open(root_node);
    BOOST_TEST(is_done(ledger_charge(at, 100)));
    BOOST_TEST(is_done(ledger_uncharge(at, 100)));
    const std::uint64_t stamp = account_at(at).charged.stamp;
    account_close(at);
    BOOST_TEST(account_open(root_node) == at);
    BOOST_TEST(account_at(at).charged.stamp == stamp);
    BOOST_TEST(stamp > 0u);
}

BOOST_FIXTURE_TEST_CASE(what_is_closed_with_something_charged_is_put_right_and_counted, shared_tree) {
    const std::uint32_t at = account_open(root_node);
    BOOST_TEST(is_done(ledger_charge(at, 100)));
    account_close(at);
    BOOST_TEST(usage(root_node) == 0u);
    BOOST_TEST(head().anomalies.load() == 1u);
}

BOOST_FIXTURE_TEST_CASE(accounts_are_visited_with_their_members, shared_tree) {
    const std::uint32_t a = account_open(root_node), b = account_open(made("/b"));
    other_process other(root_node, [](other_process::words &w) { w.a = account_open(root_node); });
    std::set<std::pair<std::uint32_t, std::uint32_t>> found;
    for_accounts([&](std::uint32_t i, const account &, std::uint32_t owner) { found.insert({i, owner}); });
    const std::set<std::pair<std::uint32_t, std::uint32_t>> expected{
        {a, this_member}, {b, this_member}, {other.told->a, other.told->member}};
    BOOST_TEST((found == expected));
}

BOOST_FIXTURE_TEST_CASE(a_full_table_gives_none_until_one_is_closed, shared_tree) {
    std::vector<std::uint32_t> all;
    while (const std::uint32_t at = account_open(root_node)) all.push_back(at);
    BOOST_TEST(all.size() == nr_accounts - 1);
    account_close(all[12345]);
    BOOST_TEST(account_open(root_node) == all[12345]);
    BOOST_TEST(account_open(root_node) == 0u);
}

BOOST_FIXTURE_TEST_CASE(threads_that_open_at_once_never_get_the_same, shared_tree) {
    std::vector<std::thread> threads;
    std::vector<std::set<std::uint32_t>> got(4);
    std::atomic<int> twice{0};
    std::vector<std::atomic<int>> in_use(nr_accounts);
    for (auto &mine : got)
        threads.emplace_back([&] {
            for (int i = 0; i < 20000; ++i) {
                const std::uint32_t at = account_open(root_node);
                twice += in_use[at].fetch_add(1) != 0;
                mine.insert(at);
                in_use[at].fetch_sub(1);
                account_close(at);
            }
        });
    for (std::thread &t : threads) t.join();
    BOOST_TEST(twice == 0);
    BOOST_TEST(used(part::accounts) < 64u); // they are used again
}

BOOST_FIXTURE_TEST_CASE(contexts_are_given_out_in_chunks_that_can_be_touched, shared_tree) {
    const std::uint32_t first = chunk_open(), second = chunk_open();
    BOOST_TEST(first >= chunk_contexts);
    BOOST_TEST(second != first);
    BOOST_TEST(first % chunk_contexts == 0u);
    for (std::uint32_t i = 0; i < chunk_contexts; ++i) {
        *reinterpret_cast<char *>(context_address(first + i)) = 1;
        BOOST_TEST(taking_at(first + i).account.load() == 0u);
    }
    std::set<std::uint32_t> mine;
    for_chunks_of(this_member, [&](std::uint32_t at) { mine.insert(at); });
    BOOST_TEST((mine == std::set<std::uint32_t>{first, second}));
}

BOOST_FIXTURE_TEST_CASE(a_chunk_that_was_anothers_begins_with_what_was_taken_from_it, shared_tree) {
    other_process owner(root_node, [](other_process::words &w) {
        w.a = chunk_open();
        taking_at(w.a).account.store(9);
        taking_at(w.a).taken.value.store(500);
    });
    owner.end();
    BOOST_TEST(reap(owner.told->member));
    BOOST_TEST(chunk_open() == owner.told->a);
    BOOST_TEST(taking_at(owner.told->a).account.load() == 0u);
    BOOST_TEST(taking_at(owner.told->a).seen.load() == 500u);
}

BOOST_FIXTURE_TEST_CASE(what_was_passed_is_settled_once, shared_tree) {
    const std::uint32_t at = account_open(root_node);
    account &a = account_at(at);
    a.inherited.store(300);
    a.passed.value.fetch_add(200);
    BOOST_TEST(account_unsettled(a) == 200u);
    account_settle(at);
    account_settle(at);
    BOOST_TEST(account_unsettled(a) == 0u);
    BOOST_TEST(a.inherited.load() == 100);
    BOOST_TEST(a.lines.settled_bytes.load() == 200);
}

BOOST_FIXTURE_TEST_CASE(what_was_freed_before_it_was_passed_is_given_back, shared_tree) {
    const std::uint32_t at = account_open(root_node);
    account &a = account_at(at);
    BOOST_TEST(is_done(ledger_charge(at, 200))); // the pass
    a.passed.value.fetch_add(200);
    a.inherited.store(150); // 50 were freed since it was decided
    account_settle(at);
    BOOST_TEST(a.inherited.load() == 0);
    BOOST_TEST(a.lines.settled_bytes.load() == 150);
    BOOST_TEST(charged(at) == 150u);
    BOOST_TEST(usage(root_node) == 150u);
}
