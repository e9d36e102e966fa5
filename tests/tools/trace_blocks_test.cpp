#define BOOST_TEST_MODULE trace_blocks
#include <boost/test/unit_test.hpp>

#include "tests/support/scratch.hpp"
#include "tests/support/trace_builder.hpp"
#include "tools/errors.hpp"
#include "tools/trace_blocks.hpp"

#include <random>

using namespace allot;

namespace {

struct file_of_test : scratch_folder {
    std::string file = folder / "t";

    std::string refusal(const std::string &bytes) const {
        trace_builder::write_bytes(file, bytes);
        try {
            trace_blocks blocks(file);
        } catch (const failure &f) {
            return std::string(f.what()).substr(file.size());
        }
        return "";
    }
};

std::vector<std::uint64_t> numbers_of(const trace_record &r) {
    return {r.numbers.begin(), r.numbers.begin() + r.nr_numbers};
}

} // namespace

BOOST_AUTO_TEST_CASE(records_are_read_one_after_the_other_up_to_the_end) {
    std::string bytes = "\x64\x05\x7f\x80\x01"; // 3 numbers, kind 4
    bytes += "\x39\x03"
             "abc"; // 1 number, kind 25
    bytes += '\0';
    bytes += "\x41";
    std::string_view rest = bytes;
    trace_record r;
    BOOST_TEST((read_trace_record(rest, r) == trace_step::record));
    BOOST_TEST(r.kind == 4u);
    BOOST_TEST((numbers_of(r) == std::vector<std::uint64_t>{5, 127, 128}));
    BOOST_TEST((read_trace_record(rest, r) == trace_step::record));
    BOOST_TEST(r.kind == 25u);
    BOOST_TEST(r.text == "abc");
    BOOST_TEST((read_trace_record(rest, r) == trace_step::end));
    BOOST_TEST(rest.size() == 2u);
    std::string_view nothing;
    BOOST_TEST((read_trace_record(nothing, r) == trace_step::end));
}

BOOST_AUTO_TEST_CASE(the_largest_number_fits_and_a_larger_one_is_torn) {
    std::string largest = "\x21" + std::string(9, '\xff') + "\x01", larger = "\x21" + std::string(9, '\xff') + "\x02",
                longer = "\x21" + std::string(11, '\x80') + "\x01";
    trace_record r;
    std::string_view rest = largest;
    BOOST_TEST((read_trace_record(rest, r) == trace_step::record));
    BOOST_TEST(r.numbers[0] == ~std::uint64_t{0});
    for (const std::string &wrong : {larger, longer}) {
        rest = wrong;
        BOOST_TEST((read_trace_record(rest, r) == trace_step::torn));
    }
}

BOOST_AUTO_TEST_CASE(a_record_that_ends_in_its_numbers_or_text_is_torn) {
    std::string whole = trace_block_builder()
                            .works_for(300, "/some/path")
                            .bytes(ALLOT_TRACE_SLOT_BYTES_LEAST)
                            .substr(sizeof(allot_trace_block));
    std::size_t length = 3 + 1 + 1 + 10 - 1 + 1; // kind, time, owner (2), length, text
    for (std::size_t cut = 1; cut <= length; ++cut) {
        std::string_view rest = std::string_view(whole).substr(0, cut);
        trace_record r;
        BOOST_TEST((read_trace_record(rest, r) == (cut == length ? trace_step::record : trace_step::torn)), cut);
    }
}

BOOST_FIXTURE_TEST_CASE(blocks_are_found_and_put_in_order_by_stream, file_of_test) {
    trace_builder trace;
    trace.add(trace_block_builder(1, 1, 1)).add(trace_block_builder(2, 1, 0));
    trace_block_builder large(1, 1, 0);
    large.head.nr_slots = 4;
    trace.add(large).add(trace_block_builder(1, 2, 0));
    trace.write(file);
    trace_blocks blocks(file);
    BOOST_TEST(blocks.streams().size() == 3u);
    const auto &first = blocks.streams().at({1, 500, 1});
    BOOST_TEST_REQUIRE(first.size() == 2u);
    BOOST_TEST(first[0].head.sequence == 0u);
    BOOST_TEST(first[0].bytes == 4u * trace.header.slot_bytes - sizeof(allot_trace_block));
    BOOST_TEST(first[1].head.sequence == 1u);
    BOOST_TEST(blocks.read(first[0]).size() == first[0].bytes);
    BOOST_TEST(blocks.nr_empty() + blocks.nr_damaged() + blocks.nr_missing() + blocks.nr_cut() == 0u);
}

BOOST_FIXTURE_TEST_CASE(what_is_no_trace_is_refused_with_a_reason, file_of_test) {
    BOOST_TEST(refusal("") == ": is empty: no program that loads the library has recorded anything");
    BOOST_TEST(refusal("hello") == ": is no trace");
    BOOST_TEST(refusal(std::string(100000, '\0')) == ": is no trace");
    trace_builder other;
    other.header.major = 9;
    BOOST_TEST(refusal(other.bytes()) == ": is a trace of version 9.0; this command reads 1.x");
    for (std::uint32_t slot_bytes : {0u, 1u, 4096u, 16385u, 1u << 21, ~0u}) {
        trace_builder damaged;
        std::string bytes = damaged.bytes();
        std::memcpy(bytes.data() + offsetof(allot_trace_header, slot_bytes), &slot_bytes, sizeof slot_bytes);
        BOOST_TEST(refusal(bytes).find(": is damaged") == 0u);
    }
    BOOST_TEST(refusal(trace_builder().bytes()) == "");
    BOOST_CHECK_THROW(trace_blocks("/dev/null"), failure);
    BOOST_CHECK_THROW(trace_blocks("/no/such/file"), failure);
    BOOST_CHECK_THROW(trace_blocks("/"), failure);
}

BOOST_FIXTURE_TEST_CASE(what_is_missing_cut_or_damaged_is_counted_and_the_rest_is_there, file_of_test) {
    trace_builder trace;
    trace.add(trace_block_builder(1, 1, 0)).add_empty_slot().add(trace_block_builder(1, 1, 3));
    trace_block_builder wrong(9, 9, 0);
    wrong.head.nr_slots = 3;
    std::string one = wrong.bytes(trace.header.slot_bytes).substr(0, trace.header.slot_bytes);
    trace.blocks += one;
    trace.add(trace_block_builder(1, 1, 3)); // once more
    trace_block_builder last(1, 1, 4);
    last.head.nr_slots = 2;
    trace.add(last);
    std::string bytes = trace.bytes();
    trace_builder::write_bytes(file, bytes.substr(0, bytes.size() - trace.header.slot_bytes - 100));
    trace_blocks blocks(file);
    BOOST_TEST(blocks.nr_empty() == 1u);
    BOOST_TEST(blocks.nr_damaged() == 2u); // the wrong one, and the second third
    BOOST_TEST(blocks.nr_missing() == 2u); // 1 and 2
    BOOST_TEST(blocks.nr_cut() == 1u);
    BOOST_TEST_REQUIRE(blocks.streams().size() == 1u);
    BOOST_TEST(blocks.streams().begin()->second.back().bytes ==
               trace.header.slot_bytes - 100 - sizeof(allot_trace_block));
}
