#define BOOST_TEST_MODULE engines
#include <boost/test/unit_test.hpp>

#include "accounting/linux/engines.hpp"

#include <set>
#include <string>

using namespace allot::memcg;

BOOST_AUTO_TEST_CASE(each_variant_is_found_by_its_name_for_either_hierarchy) {
    std::set<std::string> names;
    for (const variant_entry &variant : all_engines()) {
        BOOST_TEST(names.insert(variant.name).second, variant.name << " is there twice");
        BOOST_TEST(engine_named(variant.name) == &variant);
        BOOST_TEST(!std::string(variant.help).empty());
        auto engine = variant.make({1});
        BOOST_TEST(engine->name() == variant.name);
        bool is_v1 = std::string(variant.name).ends_with("_v1");
        BOOST_TEST((engine->config().version == hierarchy::v1) == is_v1);
    }
    BOOST_TEST(names.size() >= 32u);
    BOOST_TEST(names.size() % 2 == 0u);
}

BOOST_AUTO_TEST_CASE(a_name_of_none_is_said_to_be_none) {
    BOOST_TEST(engine_named("linux_5_14_v2") == nullptr);
    BOOST_TEST(engine_named("linux_5_1") == nullptr);
    BOOST_TEST(engine_named("") == nullptr);
}

BOOST_AUTO_TEST_CASE(a_variant_by_type_and_by_name_is_the_same) {
    auto by_type = make_engine<linux_6_0_a_v1>({2});
    BOOST_TEST(by_type->name() == std::string("linux_6_0_a_v1"));
    BOOST_TEST((by_type->config().protection == protection_update::when_changed));
}
