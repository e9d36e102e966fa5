#define BOOST_TEST_MODULE top_table
#include <boost/test/unit_test.hpp>

#include "accounting/base/units.hpp"
#include "tools/errors.hpp"
#include "tools/top_table.hpp"

using namespace allot;

namespace {

tenant_figures tenant(const std::string &path, std::uint64_t current, std::uint64_t peak, std::uint64_t max,
                      std::uint64_t oom) {
    tenant_figures t;
    t.path = path;
    t.current = current;
    t.peak = peak;
    t.max = max;
    t.events[allot_event_oom] = oom;
    return t;
}

hierarchy_view example(std::uint64_t a) {
    hierarchy_view view;
    view.tenants = {tenant("/", 100, 500, unlimited, 3), tenant("/a", a, 90, 1000, 0),
                    tenant("/a/x", 5, 80, unlimited, 0), tenant("/b", 20, 20, 40, 3)};
    return view;
}

std::string order(const top_table &table, const top_settings &settings) {
    std::string text;
    for (const top_row &row : table.rows(settings)) text += row.figures->path + " ";
    return text;
}

} // namespace

BOOST_AUTO_TEST_CASE(rows_come_in_the_order_of_each_key_and_the_other_way_round) {
    top_table table;
    table.look(example(10), "/", 1);
    table.look(example(40), "/", 3);
    BOOST_TEST(order(table, {top_order::name}) == "/ /a /a/x /b ");
    BOOST_TEST(order(table, {top_order::name, true}) == "/b /a/x /a / ");
    BOOST_TEST(order(table, {top_order::current}) == "/ /a /b /a/x ");
    BOOST_TEST(order(table, {top_order::peak}) == "/ /a /a/x /b ");
    BOOST_TEST(order(table, {top_order::percent}) == "/b /a / /a/x ");
    BOOST_TEST(order(table, {top_order::events}) == "/ /b /a /a/x ");
    BOOST_TEST(order(table, {top_order::rate}) == "/a / /a/x /b ");
    BOOST_TEST(table.rows({top_order::rate})[0].rate == 15.0);
}

BOOST_AUTO_TEST_CASE(in_a_tree_the_order_holds_among_siblings) {
    top_table table;
    table.look(example(10), "/", 1);
    BOOST_TEST(order(table, {top_order::percent, false, true}) == "/ /b /a /a/x ");
    BOOST_TEST(
        top_lines(table.rows({top_order::name, false, true}), {top_order::name, false, true}, "/")[3].starts_with(
            "    x "));
    table.look(example(10), "/a", 2);
    BOOST_TEST(order(table, {top_order::name, false, true}) == "/a /a/x ");
    BOOST_CHECK_THROW(table.look(example(10), "/none", 3), failure);
}

BOOST_AUTO_TEST_CASE(a_row_without_a_limit_has_no_percentage) {
    top_table table;
    table.look(example(10), "/", 1);
    const auto lines = top_lines(table.rows({top_order::name}), {top_order::name}, "/");
    BOOST_TEST(lines[1] == "/           100   500   max     -      0       3       0", lines[1]);
    BOOST_TEST(lines[4] == "/b           20    20    40  50.0      0       3       0", lines[4]);
}
