#define BOOST_TEST_MODULE map_rules
#include "preload/map_rules.hpp"

#include "accounting/accounting.hpp"

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <string>

using namespace allot;

namespace {

options settings{};
std::string refused_path;
char tenants[4]; // their addresses stand for tenants
const char *paths[4] = {"/web", "/db", "/io", "/refused"};

} // namespace

namespace allot {
const options &options_get() { return settings; }
allot_tenant *tenant_create_path(const char *path) {
    if (refused_path == path) return nullptr;
    for (int i = 0; i < 4; ++i)
        if (std::strcmp(path, paths[i]) == 0) return reinterpret_cast<allot_tenant *>(&tenants[i]);
    return nullptr;
}
} // namespace allot

namespace {

allot_tenant *tenant(int i) { return reinterpret_cast<allot_tenant *>(&tenants[i]); }

const map_rule rules[] = {
    {map_kind::thread, "web-[0-9]*", "/web"},
    {map_kind::exe, "post*", "/db"},
    {map_kind::thread, "web-*", "/refused"},
    {map_kind::thread, "*", "/io"},
};

struct with_rules {
    with_rules() {
        settings = {};
        settings.map = rules;
        settings.nr_map = 4;
        refused_path = "/refused";
    }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(the_first_rule_of_its_kind_that_matches_decides, with_rules) {
    BOOST_TEST(map_rules_tenant(map_kind::thread, "web-7") == tenant(0));
    BOOST_TEST(map_rules_tenant(map_kind::thread, "disk") == tenant(2));
    BOOST_TEST(map_rules_tenant(map_kind::exe, "postgres") == tenant(1));
    BOOST_TEST(map_rules_tenant(map_kind::exe, "redis") == nullptr);
}

BOOST_FIXTURE_TEST_CASE(a_rule_whose_tenant_cannot_be_made_is_as_if_it_were_not_there, with_rules) {
    BOOST_TEST(map_rules_tenant(map_kind::thread, "web-x") == tenant(2));
}

BOOST_FIXTURE_TEST_CASE(a_kind_without_rules_has_none, with_rules) {
    BOOST_TEST(map_rules_exist(map_kind::thread));
    BOOST_TEST(map_rules_exist(map_kind::exe));
    BOOST_TEST(!map_rules_exist(map_kind::lib));
    settings.nr_map = 0;
    BOOST_TEST(!map_rules_exist(map_kind::thread));
}

BOOST_FIXTURE_TEST_CASE(an_excluded_program_has_no_rules, with_rules) {
    settings.excluded = true;
    BOOST_TEST(!map_rules_exist(map_kind::thread));
    BOOST_TEST(map_rules_tenant(map_kind::thread, "web-7") == nullptr);
}
