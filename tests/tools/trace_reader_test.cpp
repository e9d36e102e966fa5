#define BOOST_TEST_MODULE trace_reader
#include <boost/test/unit_test.hpp>

#include "tests/support/scratch.hpp"
#include "tests/support/trace_builder.hpp"
#include "tools/errors.hpp"
#include "tools/trace_reader.hpp"

#include <random>

using namespace allot;

namespace {

struct file_of_test : scratch_folder {
    std::string file = folder / "t";
};

std::vector<trace_event> events_of(trace_reader &reader) {
    std::vector<trace_event> events;
    for (trace_event e; reader.next(e);) events.push_back(e);
    return events;
}

bool is(const trace_event &e, trace_event_kind kind) { return e.kind == kind; }

} // namespace

BOOST_FIXTURE_TEST_CASE(an_event_says_who_did_it_and_a_free_what_it_is_of, file_of_test) {
    trace_builder()
        .add(trace_block_builder(7)
                 .program("cc1")
                 .works_for(3, "/build")
                 .alloc(10, 0x7f0000, 100, 12)
                 .record(ALLOT_TRACE_THREAD, {5, 77})
                 .resize(1, 0x7f0000, 105, 7)
                 .transfer(1, 0x7f0000, 4, "/other")
                 .record(ALLOT_TRACE_REFUSED, {2, 1 << 30})
                 .free(3, 0x7f0000))
        .write(file);
    trace_reader reader({file});
    std::vector<trace_event> events = events_of(reader);
    BOOST_TEST_REQUIRE(events.size() == 6u);
    using enum trace_event_kind;
    BOOST_TEST(is(events[0], alloc));
    BOOST_TEST(events[0].time == 1010u);
    BOOST_TEST(events[0].address == 0x7f0000u);
    BOOST_TEST(events[0].requested == 100u);
    BOOST_TEST(events[0].usable == 112u);
    BOOST_TEST(reader.tenants()[events[0].tenant] == "/build");
    BOOST_TEST(reader.threads()[events[0].thread].id == 7u);
    BOOST_TEST(is(events[1], resize));
    BOOST_TEST(events[1].usable_before == 112u);
    BOOST_TEST(reader.threads()[events[1].thread].id == 77u);
    BOOST_TEST(is(events[2], transfer));
    BOOST_TEST(reader.tenants()[events[2].tenant_before] == "/build");
    BOOST_TEST(reader.tenants()[events[2].tenant] == "/other");
    BOOST_TEST(is(events[3], refused));
    BOOST_TEST(events[3].requested == std::uint64_t{1} << 30);
    BOOST_TEST(is(events[4], free));
    BOOST_TEST(events[4].is_known);
    BOOST_TEST(events[4].requested == 105u);
    BOOST_TEST(reader.tenants()[events[4].tenant] == "/other");
    BOOST_TEST(events[4].time == 1022u);
    BOOST_TEST(is(events[5], image_ends));
    BOOST_TEST_REQUIRE(reader.images().size() == 1u);
    BOOST_TEST(reader.images()[0].program == "cc1");
    BOOST_TEST(reader.images()[0].pid == 7u);
    BOOST_TEST(reader.images()[0].parent == 7u);
}

BOOST_FIXTURE_TEST_CASE(streams_and_files_are_merged_by_time_and_a_free_comes_before_an_allocation_of_the_same_moment,
                        file_of_test) {
    std::string second = folder / "u";
    trace_builder()
        .add(trace_block_builder(1, 1, 0, 100).alloc(0, 16, 1, 0).free(50, 16))
        .add(trace_block_builder(1, 2, 0, 100).alloc(50, 16, 2, 0))
        .write(file);
    trace_builder().add(trace_block_builder(2, 1, 0, 100).alloc(20, 16, 3, 0)).write(second);
    trace_reader reader({file, second});
    std::vector<trace_event> events = events_of(reader);
    std::vector<std::uint64_t> times, sizes;
    for (const trace_event &e : events) {
        times.push_back(e.time);
        if (is(e, trace_event_kind::alloc)) sizes.push_back(e.requested);
    }
    BOOST_TEST(std::is_sorted(times.begin(), times.end()));
    BOOST_TEST((sizes == std::vector<std::uint64_t>{1, 3, 2}));
    BOOST_TEST(reader.damage().unknown_blocks + reader.damage().implied_frees == 0u);
    BOOST_TEST(reader.images().size() == 2u);
}

BOOST_FIXTURE_TEST_CASE(an_image_that_ends_takes_its_blocks_with_it_and_another_may_use_the_addresses, file_of_test) {
    trace_block_builder after(1, 1, 0, 2000); // an exec: the same process, another image
    after.head.image_started = 1999;
    trace_builder().add(trace_block_builder(1).alloc(0, 16, 10, 6)).add(after.alloc(0, 16, 20, 12)).write(file);
    trace_reader reader({file});
    std::vector<trace_event> events = events_of(reader);
    BOOST_TEST_REQUIRE(events.size() == 4u);
    BOOST_TEST(is(events[1], trace_event_kind::image_ends));
    BOOST_TEST(events[1].time == 1000u);
    BOOST_TEST(events[2].image != events[0].image);
    BOOST_TEST(reader.damage().implied_frees == 0u);
}

BOOST_FIXTURE_TEST_CASE(what_the_trace_does_not_have_is_said, file_of_test) {
    trace_builder()
        .add(trace_block_builder()
                 .free(0, 0x100)          // never allocated
                 .resize(0, 0x200, 5, 11) // likewise
                 .alloc(0, 0x300, 1, 15)
                 .alloc(0, 0x300, 2, 14) // its free is missing
                 .record(ALLOT_TRACE_LOST, {0, 3})
                 .record(20, {1, 2, 3})      // of a later version
                 .record(30, {1, 2}, "text") // likewise
                 .free(0, 0x300))
        .write(file);
    trace_reader reader({file});
    std::vector<trace_event> events = events_of(reader);
    BOOST_TEST_REQUIRE(events.size() == 7u);
    BOOST_TEST(!events[0].is_known);
    BOOST_TEST(!events[1].is_known);
    BOOST_TEST(events[3].is_implied);
    BOOST_TEST(is(events[3], trace_event_kind::free));
    BOOST_TEST(events[3].usable == 16u);
    BOOST_TEST(events[5].is_known);
    BOOST_TEST(events[5].requested == 2u);
    BOOST_TEST(reader.damage().unknown_blocks == 2u);
    BOOST_TEST(reader.damage().implied_frees == 1u);
    BOOST_TEST(reader.damage().lost_records == 3u);
    BOOST_TEST(reader.damage().unknown_records == 2u);
}

BOOST_FIXTURE_TEST_CASE(a_torn_record_ends_its_block_and_the_stream_goes_on, file_of_test) {
    std::string half = "\x83"; // an allocation's first byte, and then a number without an end
    half += std::string(12, '\xff');
    trace_builder()
        .add(trace_block_builder(1, 1, 0).alloc(0, 16, 1, 15).raw(half))
        .add(trace_block_builder(1, 1, 1, 3000).free(0, 16))
        .write(file);
    trace_reader reader({file});
    std::vector<trace_event> events = events_of(reader);
    BOOST_TEST_REQUIRE(events.size() == 3u);
    BOOST_TEST(events[1].is_known);
    BOOST_TEST(reader.damage().torn_records == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_file_that_was_cut_gives_what_is_there, file_of_test) {
    trace_builder trace;
    trace_block_builder block;
    for (std::uint64_t i = 0; i < 1000; ++i) block.alloc(1, i * 16, 10, 6);
    std::string bytes = trace.add(block).bytes();
    for (std::size_t length = trace.header.slot_bytes; length < bytes.size(); length += 97) {
        trace_builder::write_bytes(file, bytes.substr(0, length));
        trace_reader reader({file});
        std::vector<trace_event> events = events_of(reader);
        BOOST_TEST(events.size() <= 1001u);
        BOOST_TEST(reader.damage().torn_records <= 1u);
    }
}

// Whatever bytes: no crash, an end, and the promises of events.
BOOST_FIXTURE_TEST_CASE(any_bytes_are_read_to_an_end, file_of_test) {
    trace_builder trace;
    trace_block_builder first(1, 1, 0), second(1, 2, 0), third(2, 1, 0);
    for (std::uint64_t i = 0; i < 100; ++i) {
        first.works_for(i % 5, "/t" + std::to_string(i % 5)).alloc(1, i * 16, i, 16);
        second.free(2, i * 16).record(ALLOT_TRACE_THREAD, {0, i});
        third.resize(1, i * 160, i, 4).transfer(0, i * 160, i, "/u");
    }
    const std::string good = trace.add(first).add(second).add(third).bytes();
    std::mt19937_64 random(1);
    std::uint64_t read = 0;
    for (int round = 0; round < 1000; ++round) {
        std::string bytes = good;
        for (std::uint64_t n = 1 + random() % 50; n > 0; --n) {
            // Near the heads and the first records, where something is.
            std::size_t at = random() % 4 * trace.header.slot_bytes + random() % 1500;
            bytes[at % bytes.size()] = static_cast<char>(random());
        }
        if (random() % 4 == 0) bytes.resize(random() % bytes.size());
        std::memcpy(bytes.data(), good.data(), std::min<std::size_t>(bytes.size(), 16)); // magic, version and slot size
        trace_builder::write_bytes(file, bytes);
        try {
            trace_reader reader({file});
            std::uint64_t last = 0;
            for (trace_event e; reader.next(e); ++read) {
                BOOST_TEST_REQUIRE(e.time >= last);
                last = e.time;
                BOOST_TEST_REQUIRE(e.image < reader.images().size());
                BOOST_TEST_REQUIRE(e.tenant < reader.tenants().size());
                if (e.kind != trace_event_kind::image_ends) BOOST_TEST_REQUIRE(e.thread < reader.threads().size());
            }
        } catch (const failure &) { // too short for a header
        }
    }
    BOOST_TEST(read > 10000u);
}
