#define BOOST_TEST_MODULE trace_file
#include <boost/test/unit_test.hpp>

#include "accounting/base/os.hpp"
#include "alloc/trace_file.hpp"
#include "tests/support/child.hpp"
#include "tests/support/scratch.hpp"

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <sys/stat.h>

using namespace allot;

namespace {

std::string bytes_of(const std::string &path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

allot_trace_header header_of(const std::string &path) {
    allot_trace_header header{};
    std::memcpy(&header, bytes_of(path).data(), sizeof header);
    return header;
}

bool is(trace_problem a, trace_problem b) { return a == b; }

} // namespace

BOOST_FIXTURE_TEST_CASE(a_file_is_made_with_a_header_and_joined_by_who_comes_later, scratch_folder) {
    std::string file = folder / "t";
    BOOST_TEST(is(trace_file_open(file.c_str()), trace_problem::none));
    allot_trace_header header = header_of(file);
    BOOST_TEST(header.magic == ALLOT_TRACE_MAGIC);
    BOOST_TEST(header.major == ALLOT_TRACE_MAJOR);
    BOOST_TEST(header.page_bytes == 4096u);
    BOOST_TEST(header.next_slot == 1u);
    BOOST_TEST(header.slot_bytes == std::filesystem::file_size(file));
    trace_space space = trace_file_claim(4);
    BOOST_TEST_REQUIRE(space.start != nullptr);
    BOOST_TEST(space.bytes == 4u * header.slot_bytes);
    std::memcpy(space.start, "hello", 5);
    BOOST_TEST(is(trace_file_open(file.c_str()), trace_problem::none));
    BOOST_TEST(header_of(file).next_slot == 5u);
    BOOST_TEST(bytes_of(file).substr(header.slot_bytes, 5) == "hello");
    trace_file_unmap(space);
}

BOOST_FIXTURE_TEST_CASE(an_empty_file_becomes_one, scratch_folder) {
    std::string file = folder / "t";
    std::ofstream{file};
    BOOST_TEST(is(trace_file_open(file.c_str()), trace_problem::none));
    BOOST_TEST(header_of(file).magic == ALLOT_TRACE_MAGIC);
}

BOOST_FIXTURE_TEST_CASE(what_is_something_else_is_not_touched, scratch_folder) {
    std::string text = folder / "text", zeros = folder / "zeros", link = folder / "link", pipe = folder / "pipe";
    std::ofstream(text) << std::string(100000, 'x');
    std::ofstream(zeros) << std::string(100000, '\0');
    std::filesystem::create_symlink(text, link);
    BOOST_TEST_REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    BOOST_TEST(is(trace_file_open(text.c_str()), trace_problem::not_a_trace));
    BOOST_TEST(is(trace_file_open(zeros.c_str()), trace_problem::not_a_trace));
    BOOST_TEST(is(trace_file_open(link.c_str()), trace_problem::cannot_be_opened));
    BOOST_TEST(is(trace_file_open(pipe.c_str()), trace_problem::not_a_trace));
    BOOST_TEST(is(trace_file_open((folder / "no/such").c_str()), trace_problem::cannot_be_opened));
    BOOST_TEST(is(trace_file_open(folder.c_str()), trace_problem::cannot_be_opened));
    BOOST_TEST(bytes_of(text) == std::string(100000, 'x'));
    BOOST_TEST(bytes_of(zeros) == std::string(100000, '\0'));
}

BOOST_FIXTURE_TEST_CASE(another_version_is_not_joined, scratch_folder) {
    std::string file = folder / "t";
    BOOST_TEST(is(trace_file_open(file.c_str()), trace_problem::none));
    std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
    std::uint16_t next = ALLOT_TRACE_MAJOR + 1;
    out.seekp(offsetof(allot_trace_header, major));
    out.write(reinterpret_cast<char *>(&next), sizeof next);
    out.close();
    BOOST_TEST(is(trace_file_open(file.c_str()), trace_problem::other_version));
}

BOOST_FIXTURE_TEST_CASE(a_file_that_was_put_in_its_place_is_not_written_to, scratch_folder) {
    std::string file = folder / "t";
    BOOST_TEST(is(trace_file_open(file.c_str()), trace_problem::none));
    std::filesystem::rename(file, folder / "away");
    trace_space gone = trace_file_claim(1);
    BOOST_TEST(is(gone.problem, trace_problem::cannot_be_opened));
    std::ofstream(file) << "mine";
    trace_space space = trace_file_claim(1);
    BOOST_TEST(space.start == nullptr);
    BOOST_TEST(is(space.problem, trace_problem::replaced));
    BOOST_TEST(bytes_of(file) == "mine");
}

BOOST_FIXTURE_TEST_CASE(nothing_is_claimed_once_system_calls_may_be_forbidden, scratch_folder) {
    std::string file = folder / "t";
    membarrier_mode before = os_membarrier_mode();
    os_set_membarrier_mode(membarrier_mode::private_expedited);
    BOOST_TEST(is(trace_file_open(file.c_str()), trace_problem::none));
    os_set_membarrier_mode(membarrier_mode::unavailable);
    BOOST_TEST(is(trace_file_claim(1).problem, trace_problem::forbidden));
    os_set_membarrier_mode(before);
    trace_file_note_stopped(trace_problem::forbidden);
    BOOST_TEST(header_of(file).stop_reason == ALLOT_TRACE_STOPPED_FORBIDDEN);
    BOOST_TEST(header_of(file).nr_stopped == 1u);
}

// Each of four processes marks all of its blocks; at the end every byte has the mark of one.
BOOST_FIXTURE_TEST_CASE(processes_that_begin_at_the_same_time_make_one_file_and_share_it, scratch_folder) {
    std::string file = folder / "t";
    std::vector<pid_t> children;
    constexpr std::uint32_t claims = 50;
    for (char mark : {'a', 'b', 'c', 'd'}) {
        pid_t child = fork();
        BOOST_TEST_REQUIRE(child >= 0);
        if (child == 0) {
            if (!is(trace_file_open(file.c_str()), trace_problem::none)) _exit(1);
            for (std::uint32_t i = 0; i < claims; ++i) {
                trace_space space = trace_file_claim(1 + i % 3);
                if (space.start == nullptr) _exit(2);
                for (std::size_t at = 0; at < space.bytes; ++at)
                    if (space.start[at] != 0) _exit(3);
                std::memset(space.start, mark, space.bytes);
                trace_file_unmap(space);
            }
            _exit(0);
        }
        children.push_back(child);
    }
    for (pid_t child : children) {
        int status = 0;
        BOOST_TEST(waitpid(child, &status, 0) == child);
        BOOST_TEST(status == 0);
    }
    allot_trace_header header = header_of(file);
    std::uint64_t slots = 0;
    for (std::uint32_t i = 0; i < claims; ++i) slots += 1 + i % 3;
    BOOST_TEST(header.next_slot == 1 + 4 * slots);
    std::string bytes = bytes_of(file);
    BOOST_TEST_REQUIRE(bytes.size() == header.next_slot * header.slot_bytes);
    std::map<char, std::uint64_t> count;
    for (std::size_t at = header.slot_bytes; at < bytes.size(); ++at) ++count[bytes[at]];
    BOOST_TEST(count.size() == 4u);
    for (const auto &[mark, nr] : count) BOOST_TEST(nr == slots * header.slot_bytes);
}
