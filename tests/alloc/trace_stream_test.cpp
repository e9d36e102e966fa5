#define BOOST_TEST_MODULE trace_stream
#include <boost/test/unit_test.hpp>

#include "accounting/base/os.hpp"
#include "alloc/alloc.hpp"
#include "alloc/trace_stream.hpp"
#include "tests/support/child.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/scratch.hpp"
#include "tests/support/trace_records.hpp"

#include <csignal>
#include <sys/mman.h>
#include <thread>

using namespace allot;

namespace {

struct stream_into_a_file : scratch_folder {
    std::string file = folder / "t";
    trace_image image{os_pid(), 1, 1234, "some program", {0}};
    trace_stream stream{image};

    stream_into_a_file() {
        heap_start(); // paths of owners are accounting's
        BOOST_TEST_REQUIRE((trace_file_open(file.c_str()) == trace_problem::none));
    }
    void add(allot_trace_kind kind, std::uint64_t address, std::uint64_t requested = 0, std::uint64_t usable = 0) {
        BOOST_TEST_REQUIRE((stream.add({kind, address, requested, usable, 1}) == trace_problem::none));
    }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(every_number_comes_back, stream_into_a_file) {
    std::vector<std::uint64_t> addresses{16, 0x7fffffffffff0, 0, 32, 0xfffffffffffffff0, 16, 0x800000000000};
    std::vector<std::uint64_t> sizes{0, 1, 127, 128, 16383, 16384, ~std::uint64_t{0} >> 1};
    for (std::uint64_t address : addresses)
        for (std::uint64_t size : sizes) add(ALLOT_TRACE_ALLOC, address, size, size + 7);
    std::vector<trace_text_record> allocs = read_trace(file).of(ALLOT_TRACE_ALLOC);
    BOOST_TEST_REQUIRE(allocs.size() == addresses.size() * sizes.size());
    std::size_t i = 0;
    for (std::uint64_t address : addresses)
        for (std::uint64_t size : sizes) {
            BOOST_TEST(allocs[i].address == address);
            BOOST_TEST(allocs[i].numbers[1] == size);
            BOOST_TEST(allocs[i].numbers[2] == 7u);
            ++i;
        }
}

BOOST_FIXTURE_TEST_CASE(a_block_says_who_writes_and_where_it_goes_on, stream_into_a_file) {
    for (std::uint64_t i = 0; i < 100000; ++i)
        add(i % 2 == 0 ? ALLOT_TRACE_ALLOC : ALLOT_TRACE_FREE, i / 2 * 16, i, i + 16);
    trace_contents trace = read_trace(file);
    BOOST_TEST(trace.of(ALLOT_TRACE_ALLOC).size() == 50000u);
    BOOST_TEST(trace.records.back().sequence >= 3u);
    std::vector<trace_text_record> programs = trace.of(ALLOT_TRACE_PROGRAM);
    BOOST_TEST_REQUIRE(programs.size() == 1u);
    BOOST_TEST(programs[0].text == "some program");
    BOOST_TEST(programs[0].numbers[0] == 1u);
    // Said again in each block, so that each can be read by itself.
    BOOST_TEST(trace.of(ALLOT_TRACE_WORKS_FOR).size() == trace.records.back().sequence + 1u);
    for (const trace_text_record &r : trace.records) {
        bool is_of_this_thread = r.pid == os_pid() && r.thread == os_tid() && r.image_started == 1234 && r.stream == 1;
        if (!is_of_this_thread) BOOST_FAIL("of somebody else");
    }
}

BOOST_FIXTURE_TEST_CASE(time_is_the_monotonic_clock_and_does_not_go_back, stream_into_a_file) {
    std::uint64_t before = os_nanoseconds();
    for (std::uint64_t i = 0; i < 1000; ++i) add(ALLOT_TRACE_FREE, i * 16);
    std::uint64_t after = os_nanoseconds(), last = before;
    for (const trace_text_record &r : read_trace(file).records) {
        BOOST_TEST_REQUIRE(r.time >= last);
        last = r.time;
    }
    BOOST_TEST(last <= after);
}

BOOST_FIXTURE_TEST_CASE(another_thread_that_goes_on_is_named, stream_into_a_file) {
    add(ALLOT_TRACE_FREE, 16);
    std::uint32_t other = 0;
    std::thread([&] {
        other = os_tid();
        (void)stream.add({ALLOT_TRACE_FREE, 32, 0, 0, 0});
    }).join();
    add(ALLOT_TRACE_FREE, 48);
    std::vector<trace_text_record> frees = read_trace(file).of(ALLOT_TRACE_FREE);
    BOOST_TEST_REQUIRE(frees.size() == 3u);
    BOOST_TEST(frees[0].thread == os_tid());
    BOOST_TEST(frees[1].thread == other);
    BOOST_TEST(frees[2].thread == os_tid());
}

BOOST_FIXTURE_TEST_CASE(the_stream_of_a_parent_is_not_gone_on_with, stream_into_a_file) {
    add(ALLOT_TRACE_FREE, 16);
    image.started = 5678; // as in a child
    for (std::uint64_t i = 0; i < 10000; ++i) add(ALLOT_TRACE_FREE, i * 16);
    BOOST_TEST(read_trace(file).of(ALLOT_TRACE_FREE).size() == 1u);
    BOOST_TEST(read_trace(file).header.next_slot == 2u);
}

// The block is made read-only, so that the writing of a record is interrupted in its middle by a handler that records
// twenty frees before it makes the block writable again.
namespace {
stream_into_a_file *interrupted;
void *page;
std::size_t page_length;
void handle_fault(int) {
    for (std::uint64_t i = 1; i <= 20; ++i) (void)interrupted->stream.add({ALLOT_TRACE_FREE, i * 16, 0, 0, 0});
    mprotect(page, page_length, PROT_READ | PROT_WRITE);
}
} // namespace

BOOST_FIXTURE_TEST_CASE(what_a_handler_records_amid_a_record_comes_behind_it_or_is_counted_as_lost,
                        stream_into_a_file) {
    if (is_sanitized) return; // it handles faults itself
    add(ALLOT_TRACE_FREE, 0x1000);
    std::ifstream maps("/proc/self/maps");
    std::uintptr_t start = 0, end = 0;
    for (std::string line; std::getline(maps, line);)
        if (line.find(file) != std::string::npos && std::sscanf(line.c_str(), "%lx-%lx", &start, &end) == 2 &&
            std::memcmp(reinterpret_cast<void *>(start), "tBlk", 4) == 0)
            break;
    BOOST_TEST_REQUIRE(end > start);
    page = reinterpret_cast<void *>(start);
    page_length = end - start;
    interrupted = this;
    struct sigaction action {
    }, before{};
    action.sa_handler = handle_fault;
    sigaction(SIGSEGV, &action, &before);
    mprotect(page, page_length, PROT_READ);
    add(ALLOT_TRACE_FREE, 0x2000);
    sigaction(SIGSEGV, &before, nullptr);
    trace_contents trace = read_trace(file);
    std::vector<trace_text_record> frees = trace.of(ALLOT_TRACE_FREE);
    BOOST_TEST_REQUIRE(frees.size() == 2u + 16u);
    BOOST_TEST(frees[1].address == 0x2000u);
    for (std::uint64_t i = 1; i <= 16; ++i) BOOST_TEST(frees[1 + i].address == i * 16);
    std::vector<trace_text_record> lost = trace.of(ALLOT_TRACE_LOST);
    BOOST_TEST_REQUIRE(lost.size() == 1u);
    BOOST_TEST(lost[0].numbers[0] == 4u);
}
