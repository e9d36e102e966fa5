// What is shown of a trace. That programs record is seen in trace_command_test.py.
#define BOOST_TEST_MODULE trace_command
#include <boost/test/unit_test.hpp>

#include "tests/support/scratch.hpp"
#include "tests/support/trace_builder.hpp"
#include "tools/errors.hpp"
#include "tools/trace_command.hpp"

#include <nlohmann/json.hpp>

using namespace allot;

namespace {

struct small_trace : scratch_folder {
    std::string file = folder / "t";

    small_trace() {
        trace_builder trace;
        trace.header.nr_stopped = 1;
        trace.header.stop_reason = ALLOT_TRACE_STOPPED_NO_SPACE;
        trace
            .add(trace_block_builder(12)
                     .program("evil\x1b[2Jname\xff")
                     .works_for(1, "/a")
                     .alloc(0, 0x7f10, 100, 12)
                     .free(1000000, 0x7f10)
                     .free(0, 0x7f20))
            .write(file);
    }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(the_text_has_a_row_for_each_tenant_and_image_and_says_what_is_wrong, small_trace) {
    trace_reader reader({file});
    trace_summary summary(reader);
    std::string text = trace_as_text("FILE", reader, summary);
    BOOST_TEST(text.find("FILE: 1 program images, 1 threads, 0.001 s, 6 records\n") == 0u, text);
    for (const char *part :
         {"\n  /a ", "evil?[2Jname", "  1 processes stopped recording before their end: no space\n",
          "  1 operations are on blocks that are not in the trace\n", "  (unknown) ", "blocks of at most", "  128 "})
        BOOST_TEST(text.find(part) != std::string::npos, part << " is not in\n" << text);
    BOOST_TEST(text.find('\x1b') == std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(the_json_has_the_same_numbers, small_trace) {
    trace_reader reader({file});
    trace_summary summary(reader);
    nlohmann::json json = nlohmann::json::parse(trace_as_json(reader, summary));
    BOOST_TEST(json["records"] == 6);
    BOOST_TEST(json["all"]["alloc"] == 1);
    BOOST_TEST(json["all"]["free"] == 2);
    BOOST_TEST(json["all"]["live_peak"] == 112);
    BOOST_TEST(json["tenants"][0]["path"] == "/a");
    BOOST_TEST(json["images"][0]["pid"] == 12);
    BOOST_TEST(json["images"][0]["threads"] == 1);
    BOOST_TEST(json["sizes"][0]["at_most"] == 128);
    BOOST_TEST(json["damage"]["stopped_images"] == 1);
    BOOST_TEST(json["damage"]["unknown_blocks"] == 1);
}

BOOST_FIXTURE_TEST_CASE(a_line_says_when_who_what_and_how_much, small_trace) {
    trace_reader reader({file});
    trace_event event;
    BOOST_TEST(reader.next(event));
    BOOST_TEST(trace_line(event, reader, 1000) == "0.000000 12/12 alloc 0x7f10 100 112 /a\n");
    BOOST_TEST(reader.next(event));
    BOOST_TEST(trace_line(event, reader, 1000) == "0.001000 12/12 free 0x7f10 100 112 /a\n");
}

BOOST_AUTO_TEST_CASE(wrong_arguments_are_told) {
    BOOST_CHECK_THROW(trace_command({}), usage_error);
    BOOST_CHECK_THROW(trace_command({"--jsn", "x"}), usage_error);
    BOOST_CHECK_THROW(trace_command({"--json", "--records", "x"}), usage_error);
    BOOST_CHECK_THROW(trace_command({"/no/such/file"}), failure);
}
