#define BOOST_TEST_MODULE option_lists
#include <boost/test/unit_test.hpp>

#include "accounting/option_lists.hpp"

#include <string>
#include <vector>

using namespace allot;

namespace {

struct fixture {
    text_arena arena;
    options out;
    std::vector<std::string> left_out;
    list_errors errors{this, [](void *self, const char *item, std::size_t length, const char *why) {
                           BOOST_TEST(why != nullptr);
                           static_cast<fixture *>(self)->left_out.emplace_back(item, length);
                       }};

    void map(const std::string &text) { parse_map(text.data(), text.size(), arena, out, errors); }
    void exclude(const std::string &text) { parse_exclude(text.data(), text.size(), arena, out, errors); }
    void tree(const std::string &text) { parse_tree(text.data(), text.size(), arena, out, errors); }
    std::string setting(std::uint32_t i) const {
        return std::string(out.tree[i].path) + " " + out.tree[i].file + "=" + out.tree[i].value;
    }
};

bool is_path(const std::string &text) { return is_tenant_path(text.data(), text.size()); }

} // namespace

BOOST_AUTO_TEST_CASE(a_tenants_path_is_a_slash_or_a_chain_of_names) {
    for (const char *good : {"/", "/a", "/web/api", "/...", "/.a", "/a b"}) BOOST_TEST(is_path(good), good);
    for (const char *bad : {"", "a", "a/b", "//", "/a/", "/a//b", "/.", "/a/..", "/../a", "/a\n", "/a\nb/c"})
        BOOST_TEST(!is_path(bad), bad);
    BOOST_TEST(is_path("/" + std::string(63, 'n')));
    BOOST_TEST(!is_path("/" + std::string(64, 'n')));
    BOOST_TEST(is_tenant_path("/web"));
    BOOST_TEST(!is_tenant_path("web"));
}

BOOST_FIXTURE_TEST_CASE(rules_are_read_in_their_order, fixture) {
    map("thread:io*=/web/io;exe:python3=/py;;lib:libx.so.1=/plugins/x");
    BOOST_TEST_REQUIRE(out.nr_map == 3U);
    BOOST_TEST((out.map[0].kind == map_kind::thread));
    BOOST_TEST(out.map[0].glob == std::string("io*"));
    BOOST_TEST(out.map[0].path == std::string("/web/io"));
    BOOST_TEST((out.map[1].kind == map_kind::exe));
    BOOST_TEST((out.map[2].kind == map_kind::lib));
    BOOST_TEST(out.map[2].glob == std::string("libx.so.1"));
    BOOST_TEST(left_out.empty());
}

BOOST_FIXTURE_TEST_CASE(a_rule_that_is_not_understood_is_left_out_alone, fixture) {
    map("thread:a=/a;proc:b=/b;thread:=/c;thread:d;thread:e=e;exe:f=/f;threads");
    BOOST_TEST_REQUIRE(out.nr_map == 2U);
    BOOST_TEST(out.map[1].glob == std::string("f"));
    const std::vector<std::string> expected{"proc:b=/b", "thread:=/c", "thread:d", "thread:e=e", "threads"};
    BOOST_TEST(left_out == expected, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(programs_are_excluded_by_file_name, fixture) {
    exclude("git;/usr/bin/ls;a.out;");
    BOOST_TEST_REQUIRE(out.nr_exclude == 2U);
    BOOST_TEST(out.exclude[0] == std::string("git"));
    BOOST_TEST(out.exclude[1] == std::string("a.out"));
    BOOST_TEST(left_out == std::vector<std::string>{"/usr/bin/ls"}, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_tree_gives_one_line_for_each_setting_and_each_bare_tenant, fixture) {
    tree("/a memory.max=64M memory.oom.policy=kill;/a/b;/c  memory.high=50%");
    BOOST_TEST_REQUIRE(out.nr_tree == 4U);
    BOOST_TEST(setting(0) == "/a memory.max=64M");
    BOOST_TEST(setting(1) == "/a memory.oom.policy=kill");
    BOOST_TEST(setting(2) == "/a/b =");
    BOOST_TEST(setting(3) == "/c memory.high=50%");
    BOOST_TEST(left_out.empty());
}

BOOST_FIXTURE_TEST_CASE(a_tenant_with_a_setting_that_is_not_understood_is_left_out, fixture) {
    tree("/a memory.max=5MB;/b memory.current=1;/c memory.max;d memory.max=1;/e memory.oom.policy=panic;/f "
         "memory.min=1M");
    BOOST_TEST_REQUIRE(out.nr_tree == 1U);
    BOOST_TEST(setting(0) == "/f memory.min=1M");
    BOOST_TEST(left_out.size() == 5U);
}

BOOST_FIXTURE_TEST_CASE(a_tree_may_say_what_a_refusal_leads_to, fixture) {
    tree("/a memory.oom.policy=inherit memory.oom.group=1 memory.headroom=64K memory.throttle=inherit;"
         "/b memory.oom.group=2;/c memory.throttle=yes;/d memory.headroom=x");
    BOOST_TEST_REQUIRE(out.nr_tree == 4U);
    BOOST_TEST(setting(1) == "/a memory.oom.group=1");
    BOOST_TEST(left_out.size() == 3U);
}

BOOST_AUTO_TEST_CASE(one_item_can_be_checked_before_it_is_passed_on) {
    BOOST_TEST(map_rule_error("thread:a=/a", 11) == nullptr);
    BOOST_TEST(map_rule_error("thread:a", 8) != nullptr);
    BOOST_TEST(exclude_error("git", 3) == nullptr);
    BOOST_TEST(exclude_error("", 0) != nullptr);
    BOOST_TEST(tree_item_error("/a memory.max=1M", 16) == nullptr);
    BOOST_TEST(tree_item_error("/a memory.max=", 14) != nullptr);
}
