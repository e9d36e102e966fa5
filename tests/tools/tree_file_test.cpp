#define BOOST_TEST_MODULE tree_file
#include <boost/test/unit_test.hpp>

#include "tools/errors.hpp"
#include "tools/tree_file.hpp"

#include <string>

using namespace allot;

namespace {

std::string flat(const std::string &toml) { return tree_option_of(toml, "t.toml"); }

std::string refusal(const std::string &toml) {
    try {
        return "accepted: " + flat(toml);
    } catch (const usage_error &error) {
        return error.what();
    }
}

bool begins(const std::string &text, const std::string &start) { return text.compare(0, start.size(), start) == 0; }

} // namespace

BOOST_AUTO_TEST_CASE(keys_are_quoted_or_dotted_and_values_strings_or_integers) {
    BOOST_TEST(flat("[\"/web/api\"]\n\"memory.max\" = \"64M\"\nmemory.high = 50331648\n") ==
               "/web/api memory.high=50331648 memory.max=64M");
    BOOST_TEST(flat("[\"/a\"]\nmemory.oom.policy = \"abort\"\nmemory.max = \"1G 500M\"\n") ==
               "/a memory.max=1G500M memory.oom.policy=abort");
}

BOOST_AUTO_TEST_CASE(parents_come_before_their_children) {
    BOOST_TEST(flat("[\"/a/b\"]\n[\"/a\"]\nmemory.max = \"50%\"\n[\"/\"]\nmemory.max = 1\n[\"/a-b\"]\n") ==
               "/ memory.max=1;/a memory.max=50%;/a-b;/a/b");
}

BOOST_AUTO_TEST_CASE(an_empty_file_is_an_empty_tree) {
    BOOST_TEST(flat("") == "");
    BOOST_TEST(flat("# nothing\n") == "");
}

BOOST_AUTO_TEST_CASE(what_is_wrong_is_told_with_file_and_line) {
    BOOST_TEST(begins(refusal("\n[\"/a\"\n"), "t.toml:2: "), refusal("\n[\"/a\"\n"));
    BOOST_TEST(begins(refusal("[\"a\"]\n"), "t.toml:1: a: a tenant's path is"), refusal("[\"a\"]\n"));
    const std::string size = refusal("[\"/a\"]\nmemory.max = \"5MB\"\n");
    BOOST_TEST(begins(size, "t.toml:2: /a: memory.max = 5MB: KB, MB and the like"), size);
    const std::string type = refusal("[\"/a\"]\nmemory.max = 1.5\n");
    BOOST_TEST(type == "t.toml:2: memory.max: expected a string or an integer");
    const std::string negative = refusal("[\"/a\"]\nmemory.max = -1\n");
    BOOST_TEST(negative.find("not negative") != std::string::npos, negative);
    const std::string unknown = refusal("[\"/a\"]\nmemory.current = 1\n");
    BOOST_TEST(unknown.find("a tree sets memory.max") != std::string::npos, unknown);
    const std::string name = refusal("[\"/a b\"]\n");
    BOOST_TEST(name.find("no space") != std::string::npos, name);
    const std::string bare = refusal("\"/a\" = 1\n");
    BOOST_TEST(bare.find("expected a section") != std::string::npos, bare);
}

BOOST_AUTO_TEST_CASE(a_value_cannot_smuggle_in_another_setting) {
    const std::string semicolon = refusal("[\"/a\"]\nmemory.max = \"1;/b\"\n");
    BOOST_TEST(begins(semicolon, "t.toml:2: "), semicolon);
    const std::string space = refusal("[\"/a\"]\nmemory.max = \"1 memory.min=1\"\n");
    BOOST_TEST(begins(space, "t.toml:2: "), space);
}

BOOST_AUTO_TEST_CASE(a_file_that_cannot_be_read_is_a_wrong_argument) {
    BOOST_CHECK_THROW((void)read_tree_file("/nowhere/at/all.toml"), usage_error);
    BOOST_CHECK_THROW((void)read_tree_file("/"), usage_error);
    BOOST_CHECK_THROW((void)read_tree_file("/dev/zero"), usage_error); // it has no end
}
