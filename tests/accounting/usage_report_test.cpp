// The form of reports. What the figures of a run look like is in the tests of the renderers; here are texts and edges.
#define BOOST_TEST_MODULE usage_report
#include <boost/test/unit_test.hpp>

#include "accounting/base/units.hpp"
#include "accounting/usage_report.hpp"

#include <nlohmann/json.hpp>

#include <random>
#include <string>

using namespace allot;

namespace {

struct collector {
    std::string text;
    char buffer[7]; // small, so that it is full everywhere
    text_sink sink{
        buffer, sizeof buffer,
        [](void *to, const char *part, std::size_t length) { static_cast<std::string *>(to)->append(part, length); },
        &text};
};

std::string json_of_word(const std::string &word) {
    collector out;
    json_report report(out.sink);
    report.command(word.c_str());
    report.ending({0, 0, nullptr});
    report.processes();
    report.end();
    return out.text;
}

// What a library of good name makes of the same.
std::string expected_json_of_word(const std::string &word) {
    const nlohmann::ordered_json whole = {{"command", {word}},
                                          {"status", 0},
                                          {"tenants", nlohmann::json::array()},
                                          {"processes", nlohmann::json::array()}};
    return whole.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

tenant_row row(const char *path) { return {path, 1, 2, 3, 4, unlimited, unlimited, {}, {}}; }

} // namespace

BOOST_AUTO_TEST_CASE(every_byte_alone_and_after_the_start_of_a_character_is_valid_json) {
    for (const char *before :
         {"", "a", "\xc3", "\xe2\x82", "\xe2", "\xf0\x9f\x98", "\xf4", "\xed", "\xe0", "\xf0", "\xc0"})
        for (int byte = 1; byte < 256; ++byte)
            for (const char *after : {"", "z", "\x80"}) {
                const std::string word = before + std::string(1, static_cast<char>(byte)) + after;
                BOOST_TEST(json_of_word(word) == expected_json_of_word(word));
            }
}

BOOST_AUTO_TEST_CASE(random_bytes_are_valid_json) {
    std::mt19937 random(20221); // a fixed seed
    constexpr unsigned char likely[] = {0xc3, 0xa9, 0xe2, 0x82, 0xac, 0xf0, 0x9f, 0x98,
                                        0x80, 0xed, 0xa0, 0xf4, 0x90, '"',  '\\', 'a'};
    for (int round = 0; round < 5000; ++round) {
        std::string word;
        for (std::size_t n = random() % 12; n > 0; --n)
            word += static_cast<char>(random() % 4 == 0 ? random() % 255 + 1 : likely[random() % sizeof likely]);
        BOOST_TEST_REQUIRE(json_of_word(word) == expected_json_of_word(word));
    }
}

BOOST_AUTO_TEST_CASE(commas_stand_between_elements_alone) {
    collector out;
    json_report report(out.sink);
    report.ending({3, 0, nullptr}); // a command without a word
    report.tenant(row("/"));
    report.tenant(row("/a"));
    report.processes();
    for (std::uint32_t pid : {1u, 2u}) report.process({pid, "p", "exited", 5, 0, pid});
    report.end();
    const auto whole = nlohmann::ordered_json::parse(out.text);
    BOOST_TEST(whole.dump() + "\n" == out.text);
    BOOST_TEST(whole["tenants"].size() == 2u);
    BOOST_TEST(whole["tenants"][1]["path"] == "/a");
    BOOST_TEST(whole["tenants"][1]["low"] == 4);
    BOOST_TEST(whole["tenants"][1]["max"].is_null());
    BOOST_TEST(whole["processes"].size() == 2u);
    BOOST_TEST(whole["processes"][0]["peak"] == 5);
    BOOST_TEST(whole["processes"][1]["uncounted"]["peak"] == 2);
}

BOOST_AUTO_TEST_CASE(names_are_indented_by_depth_aligned_by_character_and_harmless) {
    collector out;
    text_report report(out.sink);
    const tenant_row rows[] = {row("/"), row("/caf\xc3\xa9/deeper"), row("/\x1b[2J\x7f")};
    for (const tenant_row &r : rows) report.measure(r.path);
    report.command("x");
    report.ending({0, 64, nullptr}); // a signal without a name
    report.headings();
    for (const tenant_row &r : rows) report.tenant(r);
    report.end();
    BOOST_TEST(out.text == "allot: x was ended by signal 64\n"
                           "tenant         current      peak       max   refused\n"
                           "  /                  1         2       max         0\n"
                           "      deeper         1         2       max         0\n"
                           "    ?[2J?            1         2       max         0\n");
}
