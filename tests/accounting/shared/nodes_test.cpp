#define BOOST_TEST_MODULE shared_nodes
#include <boost/test/unit_test.hpp>

#include "tests/support/shared_tree.hpp"

#include "accounting/tenant.hpp"

#include <cerrno>
#include <set>
#include <thread>
#include <vector>

using namespace allot;
using namespace allot::shared;

namespace {

std::string path_of(std::uint32_t n) {
    char buffer[4096];
    (void)write_node_path(n, buffer, sizeof buffer);
    return buffer;
}

void set_state(std::uint32_t n, std::uint32_t tag, node_state s) {
    node &of = node_at(n);
    of.identity.store(identity_word(tag, generation_in(of.identity.load()) + 1, static_cast<std::uint8_t>(s)));
}
node_state node_state_of(std::uint32_t n) { return node_state_in(node_at(n).identity.load()); }

// The tag of a process that was killed, not reaped yet.
struct dead_process {
    explicit dead_process(std::uint32_t node) : process(node, [](other_process::words &) {}) {
        member = process.told->member;
        tag = member_tag(member, generation_in(member_at(member).identity.load()));
        process.end();
    }
    other_process process;
    std::uint32_t member, tag;
};

} // namespace

BOOST_FIXTURE_TEST_CASE(a_path_is_made_once_and_found, shared_tree) {
    const node_or_error first = node_make("/a/b");
    BOOST_TEST((first.node != 0 && first.error == 0 && first.is_new));
    const node_or_error again = node_make("/a//b/");
    BOOST_TEST((again.node == first.node && !again.is_new));
    BOOST_TEST(node_open("/a/b").node == first.node);
    BOOST_TEST(node_open("/").node == root_node);
    BOOST_TEST(node_open("/a/c").error == -ENOENT);
    BOOST_TEST(node_open("a").error == -EINVAL);
    BOOST_TEST(path_of(first.node) == "/a/b");
    BOOST_TEST(path_of(root_node) == "/");
    BOOST_TEST(node_at(first.node).parent < first.node);
    BOOST_TEST(node_at(first.node).depth == 2u);
    BOOST_TEST(node_at(first.node).set.max.load() == unlimited);
}

BOOST_FIXTURE_TEST_CASE(what_is_no_name_is_refused, shared_tree) {
    BOOST_TEST(node_make("/a/..").error == -EINVAL);
    BOOST_TEST(node_make(("/" + std::string(64, 'x')).c_str()).error == -ENAMETOOLONG);
    BOOST_TEST(node_make(("/" + std::string(63, 'x')).c_str()).error == 0);
    std::string deep;
    for (int i = 0; i < ALLOT_TENANT_DEPTH_MAX; ++i) deep += "/d";
    BOOST_TEST(node_make(deep.c_str()).error == 0);
    BOOST_TEST(node_make((deep + "/d").c_str()).error == -ENOSPC);
}

BOOST_FIXTURE_TEST_CASE(a_path_is_cut_to_fit_and_its_length_is_told, shared_tree) {
    const std::uint32_t n = made("/abc/def");
    char buffer[6] = "?????";
    BOOST_TEST(write_node_path(n, buffer, sizeof buffer) == 8u);
    BOOST_TEST(std::string(buffer) == "/abc/");
    BOOST_TEST(write_node_path(n, nullptr, 0) == 8u);
}

BOOST_FIXTURE_TEST_CASE(descendants_are_bounded_where_an_ancestor_says_so, shared_tree) {
    const std::uint32_t a = made("/a");
    node_at(a).descendants_max.store(2);
    BOOST_TEST(node_make("/a/b/c").error == 0);
    BOOST_TEST(node_make("/a/d").error == -EAGAIN);
    BOOST_TEST(node_make("/a/b").error == 0); // it is there
    BOOST_TEST(node_remove(node_open("/a/b/c").node) == 0);
    BOOST_TEST(node_make("/a/d").error == 0);
    BOOST_TEST(node_make("/a/b/c").error == -EAGAIN); // nor is one brought back
}

BOOST_FIXTURE_TEST_CASE(a_removed_node_comes_back_in_its_place_with_its_settings_forgotten, shared_tree) {
    const std::uint32_t a = made("/a", 4096);
    node_at(a).set.low.store(7);
    node_at(a).on_refusal.store(refusal_policy::kill);
    node_count_event(a, allot_event_max);
    BOOST_TEST(node_at(root_node).events[allot_event_max].load() == 1u);
    BOOST_TEST(node_at(root_node).events_local[allot_event_max].load() == 0u);
    BOOST_TEST(node_remove(a) == 0);
    BOOST_TEST(node_remove(a) == -ENOENT);
    BOOST_TEST(node_open("/a").error == -ENOENT);
    BOOST_TEST(next_living(root_node + 1) == 0u);
    const node_or_error again = node_make("/a");
    BOOST_TEST((again.node == a && again.is_new));
    BOOST_TEST(node_at(a).set.max.load() == unlimited);
    BOOST_TEST(node_at(a).set.low.load() == 0u);
    BOOST_TEST((node_at(a).on_refusal.load() == refusal_policy::inherit));
    BOOST_TEST(node_at(a).events[allot_event_max].load() == 0u);
}

BOOST_FIXTURE_TEST_CASE(what_is_in_use_is_not_removed, shared_tree) {
    const std::uint32_t a = made("/a"), b = made("/a/b");
    BOOST_TEST(node_remove(root_node) == -EBUSY);
    BOOST_TEST(node_remove(a) == -EBUSY); // a child
    const std::uint32_t at = account_open(b);
    BOOST_TEST(node_remove(b) == -EBUSY); // an account
    account_close(at);
    {
        other_process there(b, [](other_process::words &) {});
        BOOST_TEST(node_remove(b) == -EBUSY); // a process of its own
    }
    BOOST_TEST(node_remove(b) == 0); // that is dead by now
    BOOST_TEST(account_open(b) == 0u);
    BOOST_TEST(node_remove(a) == 0);
}

BOOST_FIXTURE_TEST_CASE(what_the_dead_are_charged_keeps_no_node, shared_tree) {
    const std::uint32_t a = made("/a");
    other_process payer(root_node, [&](other_process::words &) { (void)ledger_charge(account_open(a), 5000); });
    BOOST_TEST(node_remove(a) == -EBUSY);
    payer.end();
    BOOST_TEST(node_remove(a) == 0);
    BOOST_TEST(usage(root_node) == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_removal_that_is_not_done_yet_gives_way_to_who_needs_the_node, shared_tree) {
    const std::uint32_t a = made("/a");
    set_state(a, this_tag, node_state::removing);
    BOOST_TEST(node_open("/a").error == -ENOENT);
    const std::uint32_t at = account_open(a);
    BOOST_TEST(at != 0u);
    BOOST_TEST((node_state_of(a) == node_state::living));
    account_close(at);
    set_state(a, this_tag, node_state::removing);
    const node_or_error again = node_make("/a");
    BOOST_TEST((again.node == a && !again.is_new));
    BOOST_TEST(!node_hold(0));
}

BOOST_FIXTURE_TEST_CASE(a_node_that_its_maker_did_not_finish_is_finished_by_who_finds_it, shared_tree) {
    const std::uint32_t a = made("/a");
    const dead_process dead(root_node);
    set_state(a, dead.tag, node_state::claimed); // linked, and not living yet
    const node_or_error again = node_make("/a");
    BOOST_TEST((again.node == a && !again.is_new));
    set_state(a, dead.tag, node_state::reviving);
    node_at(a).set.max.store(77);
    const node_or_error back = node_make("/a");
    BOOST_TEST((back.node == a && back.is_new));
    BOOST_TEST(node_at(a).set.max.load() == unlimited);
}

BOOST_FIXTURE_TEST_CASE(who_is_stopped_amid_bringing_one_back_is_not_waited_for_long, shared_tree) {
    const std::uint32_t a = made("/a");
    set_state(a, this_tag, node_state::reviving); // somebody living
    BOOST_TEST(node_make("/a").error == -EAGAIN);
}

BOOST_FIXTURE_TEST_CASE(what_a_dead_process_was_amid_is_put_right_when_it_is_reaped, shared_tree) {
    const std::uint32_t a = made("/a"), b = made("/b"), c = made("/c"), fresh = take_fresh(part::nodes);
    const dead_process dead(root_node);
    set_state(a, dead.tag, node_state::claimed);
    set_state(b, dead.tag, node_state::removing);
    set_state(c, dead.tag, node_state::reviving);
    set_state(fresh, dead.tag, node_state::claimed); // not linked
    BOOST_TEST(reap(dead.member));
    BOOST_TEST((node_state_of(a) == node_state::living));
    BOOST_TEST((node_state_of(b) == node_state::living));
    BOOST_TEST((node_state_of(c) == node_state::removed));
    BOOST_TEST((node_state_of(fresh) == node_state::unused));
}

BOOST_FIXTURE_TEST_CASE(a_full_table_uses_records_that_nobody_could_link, shared_tree) {
    const std::uint32_t a = made("/a");
    const std::uint32_t lost = take_fresh(part::nodes);
    head().used[static_cast<std::uint32_t>(part::nodes)].store(nr_nodes);
    const node_or_error made_now = node_make("/a/b");
    BOOST_TEST(made_now.node == lost);
    BOOST_TEST(node_at(made_now.node).parent == a);
}

BOOST_FIXTURE_TEST_CASE(many_who_make_the_same_tenants_at_once_get_the_same_nodes, shared_tree) {
    constexpr int nr_threads = 4, nr_names = 300;
    std::vector<std::vector<std::uint32_t>> found(nr_threads);
    std::vector<std::thread> threads;
    std::atomic<int> nr_new{0};
    for (int t = 0; t < nr_threads; ++t)
        threads.emplace_back([&, t] {
            for (int i = 0; i < nr_names; ++i) {
                const node_or_error n = node_make(("/p/" + std::to_string(i)).c_str());
                nr_new += n.is_new;
                found[static_cast<std::size_t>(t)].push_back(n.node);
            }
        });
    for (std::thread &t : threads) t.join();
    for (const auto &f : found) BOOST_TEST((f == found[0]));
    BOOST_TEST(nr_new == nr_names);
    std::set<std::string> paths;
    for (std::uint32_t i = next_living(1); i != 0; i = next_living(i + 1)) BOOST_TEST(paths.insert(path_of(i)).second);
    BOOST_TEST(paths.size() == static_cast<std::size_t>(nr_names + 2));
}

BOOST_FIXTURE_TEST_CASE(who_removes_and_who_opens_accounts_at_once_never_both_succeed, shared_tree) {
    std::atomic<bool> is_over{false};
    std::atomic<int> removed{0}, wrong{0};
    std::thread remover([&] {
        while (!is_over) removed += node_remove(node_make("/a").node) == 0;
    });
    std::thread maker([&] {
        while (!is_over) (void)node_make("/a");
    });
    int opened = 0;
    for (int i = 0; i < 20000 || (opened < 20 && i < 2000000); ++i) {
        const std::uint32_t n = node_make("/a").node;
        const std::uint32_t at = n == 0 ? 0 : account_open(n);
        if (at == 0) continue;
        ++opened;
        wrong += node_state_in(node_at(n).identity.load()) == node_state::removed;
        account_close(at);
    }
    is_over = true;
    remover.join();
    maker.join();
    BOOST_TEST(wrong == 0);
    BOOST_TEST(opened > 0);
}

BOOST_FIXTURE_TEST_CASE(contexts_are_counted_again_from_what_accounts_have, shared_tree) {
    const std::uint32_t a = made("/a"), b = made("/a/b");
    const std::uint32_t at = account_open(b), at_a = account_open(a);
    account_at(at).nr_contexts.store(3);
    account_at(at_a).nr_contexts.store(2);
    for (std::uint32_t n : {root_node, a, b}) node_at(n).nr_contexts.store(99);
    nodes_recount_contexts(b);
    BOOST_TEST(node_at(b).nr_contexts.load() == 3u);
    BOOST_TEST(node_at(a).nr_contexts.load() == 5u);
    BOOST_TEST(node_at(root_node).nr_contexts.load() == 5u);
}
