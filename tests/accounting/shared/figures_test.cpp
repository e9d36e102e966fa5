#define BOOST_TEST_MODULE shared_figures
#include <boost/test/unit_test.hpp>

#include "accounting/context_table.hpp"
#include "accounting/shared/figures.hpp"
#include "tests/support/shared_tree.hpp"

#include <algorithm>
#include <vector>

using namespace allot;
using namespace allot::shared;

namespace {

struct figures_of_tree : shared_tree {
    std::uint32_t parent = made("/a", 1000000), child = made("/a/b");
    std::uint32_t account = account_open(child);
    std::uint32_t context_index = chunk_open();

    context_record &record() { return *reinterpret_cast<context_record *>(context_address(context_index)); }
    // So much charged to a context of which so much is used.
    void hold(std::int64_t bytes, std::int64_t used) {
        BOOST_TEST_REQUIRE(is_done(ledger_charge(account, static_cast<std::uint64_t>(bytes))));
        taking_at(context_index).account = account;
        set_flag(record().hot, context_in_use);
        record().hot.stock = bytes;
        record().hot.net = net_of(static_cast<std::int32_t>(used), 1);
    }
    static std::vector<node_figures> all() {
        std::vector<node_figures> figures(nodes_end());
        read_node_figures(figures.data(), nodes_end());
        return figures;
    }
    static figures_check checked(std::uint32_t top) {
        std::vector<node_figures> room(nodes_end());
        return check_figures(top, room.data(), 2);
    }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(current_is_usage_without_what_is_unused, figures_of_tree) {
    hold(4096, 96);
    const auto figures = all();
    for (const std::uint32_t n : {child, parent, root_node}) {
        BOOST_TEST(figures[n].usage == 4096u);
        BOOST_TEST(figures[n].current == 96u);
        BOOST_TEST(figures[n].charged == 4096u);
        BOOST_TEST(figures[n].stats[allot_stat_stock] == 4000);
        BOOST_TEST(figures[n].stats[allot_stat_slab] == 96);
        BOOST_TEST(figures[n].stats[allot_stat_objects] == 1);
        BOOST_TEST(figures[n].stats[allot_stat_unavailable] == 0);
    }
    BOOST_TEST(figures[parent].max == 1000000u);
    BOOST_TEST(figures[root_node].nr_descendants == 2u);
    BOOST_TEST(figures[root_node].nr_processes == 1u);
    BOOST_TEST(checked(root_node).differences == 0u);
    BOOST_TEST(checked(root_node).nodes == 3u);
}

BOOST_FIXTURE_TEST_CASE(what_others_took_is_not_unused_though_its_owner_does_not_know_yet, figures_of_tree) {
    hold(4096, 96);
    record().hot.lock = 77;
    BOOST_TEST_REQUIRE(is_done(ledger_take(account, context_index, 77, 3000)));
    record().hot.lock = 0;
    BOOST_TEST(all()[child].usage == 1096u);
    BOOST_TEST(all()[child].current == 96u);
    BOOST_TEST(all()[child].stats[allot_stat_stock] == 1000);
    BOOST_TEST(checked(root_node).differences == 0u);
}

BOOST_FIXTURE_TEST_CASE(bytes_by_hand_and_events_are_of_the_subtree, figures_of_tree) {
    BOOST_TEST_REQUIRE(is_done(ledger_charge(account, 500)));
    account_at(account).lines.external = 500;
    node_count_event(child, allot_event_oom);
    const auto figures = all();
    BOOST_TEST(figures[parent].stats[allot_stat_external] == 500);
    BOOST_TEST(figures[parent].current == 500u);
    BOOST_TEST(figures[parent].events[allot_event_oom] == 1u);
    BOOST_TEST(figures[parent].events_local[allot_event_oom] == 0u);
    BOOST_TEST(figures[child].events_local[allot_event_oom] == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_stopped_process_amid_a_slow_path_keeps_what_it_holds, figures_of_tree) {
    other_process other(child, [&](other_process::words &told) {
        told.a = account_open(child);
        context_index = told.b = chunk_open();
        account = told.a;
        (void)ledger_charge(account, 4096);
        taking_at(context_index).account = account;
        set_flag(record().hot, context_in_use);
        record().hot.stock = 4096;
        record().hot.lock = 1;
    });
    BOOST_TEST(all()[child].stats[allot_stat_unavailable] == 0);
    kill(other.pid, SIGSTOP);
    for (int i = 0; i < 1000 && all()[child].stats[allot_stat_unavailable] == 0; ++i) usleep(1000);
    BOOST_TEST(all()[child].stats[allot_stat_unavailable] == 4096);
    std::vector<process_figures> processes(members_end());
    read_process_figures(processes.data(), members_end());
    const process_figures &p = processes[other.told->member];
    BOOST_TEST((p.condition == process_condition::stopped));
    BOOST_TEST(p.charged == 4096u);
    BOOST_TEST(p.node == child);
    BOOST_TEST((processes[this_member].condition == process_condition::running));
}

BOOST_FIXTURE_TEST_CASE(what_differs_is_found_and_named, figures_of_tree) {
    hold(4096, 96);
    record().hot.stock = 5000; // more than was charged
    BOOST_TEST(checked(root_node).differences == 1u);
    BOOST_TEST(std::string(checked(root_node).first) ==
               "/a/b: what a process is charged for is 4096, and it says 5000");
    record().hot.stock = 4096;
    node_at(parent).usage.value = 4097;
    BOOST_TEST(std::string(checked(root_node).first) == "/a: usage is 4097, and its accounts have 4096");
    BOOST_TEST(checked(child).differences == 0u);
    node_at(parent).usage.value = 4096;
    node_at(child).set.max = ~std::uint64_t{0};
    BOOST_TEST(checked(child).differences == 1u);
    node_at(child).set.max = unlimited;
    account_at(account).lines.large = -5;
    BOOST_TEST(std::string(checked(child).first) == "/a/b: large is below zero by 5");
}
