#define BOOST_TEST_MODULE command_line
#include <boost/test/unit_test.hpp>

#include "tools/command_line.hpp"

#include <string>

using namespace allot;

BOOST_AUTO_TEST_CASE(a_size_is_checked_by_the_librarys_parser) {
    BOOST_TEST(check_size("1G500M") == "");
    BOOST_TEST(check_size("50%") == "");
    BOOST_TEST(check_size("5MB").find("'5MB': ") == 0U);
    BOOST_TEST(check_size("5MB").find("expected bytes") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_tenant_is_a_path) {
    BOOST_TEST(check_tenant("/web") == "");
    BOOST_TEST(check_tenant("web") == "'web': expected / or names of at most 63 bytes, such as /web/api");
}

BOOST_AUTO_TEST_CASE(the_nearest_word_is_offered) {
    BOOST_TEST(nearest_of("rnu", {"doctor", "run", "describe"}) == "run");
    CLI::App app("", "allot test");
    int value = 0;
    app.add_option("--max", value);
    BOOST_TEST(unknown_option(app, "--mxa=5") == "--mxa: no such option of allot test; did you mean --max?");
}

BOOST_AUTO_TEST_CASE(a_wrong_argument_is_a_usage_error_and_help_is_none) {
    CLI::App app("", "allot test");
    int value = 0;
    app.add_option("--max", value);
    app.allow_extras();
    BOOST_TEST(!parse_arguments(app, {"--max", "3"}));
    BOOST_TEST(value == 3);
    BOOST_CHECK_THROW((void)parse_arguments(app, {"--max"}), usage_error);
    BOOST_TEST(!parse_arguments(app, {"word"}));
    BOOST_CHECK_THROW(refuse_remaining(app), usage_error);
    BOOST_TEST(parse_arguments(app, {"--help"}));
}
