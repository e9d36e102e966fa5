// Each case records in a child of its own, which begins with a setting of its own as any program does, and reads what is in the file
// when the child has gone, however it went.
#define BOOST_TEST_MODULE trace
#include <boost/test/unit_test.hpp>

#include "accounting/accounting.hpp"
#include "accounting/options.hpp"
#include "alloc/alloc.hpp"
#include "alloc/fast_path.hpp"
#include "alloc/reset.hpp"
#include "alloc/trace.hpp"
#include "alloc/transfer.hpp"
#include "tests/support/child.hpp"
#include "tests/support/scratch.hpp"
#include "tests/support/trace_records.hpp"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <random>
#include <set>
#include <sys/resource.h>
#include <sys/time.h>
#include <thread>

using namespace allot;

namespace {

struct recording : scratch_folder {
    std::string file = folder / "trace";

    // What follows in this process is recorded, if `how` says so.
    void begin(const std::string &how = "") const {
        static std::string setting, limit = "ALLOT_MEMORY_MAX=1G";
        setting = "ALLOT_TRACE=" + (how.empty() ? file : how);
        static char *environment[] = {setting.data(), limit.data(), nullptr};
        options_set_environment(environment);
        heap_start();
    }
    trace_contents contents() const { return read_trace(file); }
};

// Blocks come and go, each filled, many enough for several blocks of the file.
void churn(unsigned seed, int rounds) {
    std::mt19937 random(seed);
    std::vector<void *> blocks(200);
    for (int i = 0; i < rounds; ++i) {
        void *&p = blocks[random() % blocks.size()];
        heap_free(p);
        p = heap_malloc(random() % 3000);
        if (p == nullptr) _exit(99);
        std::memset(p, i, 8);
    }
    for (void *p : blocks) heap_free(p);
}

std::vector<unsigned> kinds_of(const trace_contents &trace) {
    std::vector<unsigned> kinds;
    for (const trace_text_record &r : trace.records)
        if (r.kind >= ALLOT_TRACE_ALLOC && r.kind <= ALLOT_TRACE_LOST) kinds.push_back(r.kind);
    return kinds;
}

} // namespace

BOOST_FIXTURE_TEST_CASE(without_a_trace_the_fast_path_is_open, recording) {
    child_end end = in_child([&] {
        static char *nothing[] = {nullptr};
        options_set_environment(nothing);
        heap_start();
        return !trace_is_on() && thread_here.active == thread_here.in_home->current->front ? 0 : 1;
    });
    BOOST_TEST(end.exited_with(0));
    BOOST_TEST(!std::filesystem::exists(file));
}

BOOST_FIXTURE_TEST_CASE(each_operation_is_recorded_with_what_was_asked_for_and_what_that_takes, recording) {
    child_end end = in_child([&] {
        begin();
        void *a = heap_malloc(100);         // 112 of it
        a = heap_realloc(a, 90);            // stays
        a = heap_realloc(a, 5000);          // moves: an allocation, then a free
        void *big = heap_calloc(3, 100000); // pages
        big = heap_realloc(big, 250000);    // shrinks where it stands
        void *wide = heap_aligned_alloc(1 << 20, 10);
        heap_free(wide);
        heap_free(big);
        heap_free(a);
        heap_free(nullptr);
        return thread_here.active == &front_of_nobody ? 0 : 1;
    });
    BOOST_TEST(end.exited_with(0), end.text);
    trace_contents trace = contents();
    constexpr unsigned A = ALLOT_TRACE_ALLOC, F = ALLOT_TRACE_FREE, R = ALLOT_TRACE_RESIZE;
    std::vector<unsigned> expected{A, R, A, F, A, R, A, F, F, F};
    BOOST_TEST(kinds_of(trace) == expected, boost::test_tools::per_element());
    std::vector<trace_text_record> allocs = trace.of(A), resizes = trace.of(R);
    auto sizes = [](const trace_text_record &r) { return std::make_pair(r.numbers[1], r.numbers[1] + r.numbers[2]); };
    BOOST_TEST((sizes(allocs[0]) == std::make_pair(std::uint64_t{100}, std::uint64_t{112})));
    BOOST_TEST((sizes(resizes[0]) == std::make_pair(std::uint64_t{90}, std::uint64_t{112})));
    BOOST_TEST((sizes(allocs[1]) == std::make_pair(std::uint64_t{5000}, std::uint64_t{5120})));
    BOOST_TEST((sizes(allocs[2]) == std::make_pair(std::uint64_t{300000}, std::uint64_t{303104})));
    BOOST_TEST((sizes(resizes[1]) == std::make_pair(std::uint64_t{250000}, std::uint64_t{253952})));
    BOOST_TEST((sizes(allocs[3]) == std::make_pair(std::uint64_t{10}, std::uint64_t{4096})));
    BOOST_TEST(live_at_end(trace, trace.records[0].pid).empty());
    BOOST_TEST(trace.of(ALLOT_TRACE_PROGRAM).size() == 1u);
    BOOST_TEST(trace.of(ALLOT_TRACE_OWNER)[0].text == "/");
}

BOOST_FIXTURE_TEST_CASE(a_killed_process_leaves_all_that_it_did, recording) {
    child_end end = in_child([&] {
        begin();
        churn(1, 20000);
        (void)heap_malloc(4711);
        raise(SIGKILL);
        return 1;
    });
    BOOST_TEST((WIFSIGNALED(end.status) && WTERMSIG(end.status) == SIGKILL));
    trace_contents trace = contents();
    BOOST_TEST(trace.of(ALLOT_TRACE_ALLOC).size() == 20001u);
    BOOST_TEST(trace.of(ALLOT_TRACE_ALLOC).back().sequence > 1u); // more than one block was filled
    auto live = live_at_end(trace, trace.records[0].pid);
    BOOST_TEST_REQUIRE(live.size() == 1u);
    BOOST_TEST(live.begin()->second.numbers[1] == 4711u);
}

BOOST_FIXTURE_TEST_CASE(threads_record_at_the_same_time_and_free_what_others_allocated, recording) {
    child_end end = in_child([&] {
        begin();
        std::vector<std::thread> threads;
        // One hands its blocks to the next, who frees them: their addresses come back to the first.
        std::atomic<void *> hand{nullptr};
        std::atomic<bool> done{false};
        threads.emplace_back([&] {
            for (int i = 0; i < 20000; ++i) {
                void *p = heap_malloc(64), *none = nullptr;
                while (!hand.compare_exchange_weak(none, p)) none = nullptr;
            }
            done = true;
        });
        threads.emplace_back([&] {
            while (!done || hand.load() != nullptr) heap_free(hand.exchange(nullptr));
        });
        for (unsigned i = 0; i < 3; ++i) threads.emplace_back([i] { churn(i, 5000); });
        for (std::thread &t : threads) t.join();
        std::thread([] { churn(9, 100); }).join(); // moves into what one of the others has left
        return 0;
    });
    BOOST_TEST(end.exited_with(0), end.text);
    trace_contents trace = contents();
    BOOST_TEST(trace.of(ALLOT_TRACE_ALLOC).size() == 20000u + 3 * 5000u + 100u);
    BOOST_TEST(live_at_end(trace, trace.records[0].pid).empty());
    std::set<std::uint32_t> threads, streams;
    for (const trace_text_record &r : trace.of(ALLOT_TRACE_ALLOC)) threads.insert(r.thread), streams.insert(r.stream);
    BOOST_TEST(threads.size() == 5u);
    BOOST_TEST(streams.size() <= 5u);
    for (std::size_t i = 1; i < trace.records.size(); ++i)
        if (trace.records[i].stream == trace.records[i - 1].stream)
            if (trace.records[i].time < trace.records[i - 1].time) BOOST_FAIL("time goes back");
}

BOOST_FIXTURE_TEST_CASE(a_forked_child_is_an_image_of_its_own_in_the_same_file, recording) {
    child_end end = in_child([&] {
        begin();
        void *inherited = heap_malloc(1000), *large = heap_malloc(1 << 20);
        pid_t child = fork();
        if (child == 0) {
            heap_free(inherited); // not this process's: not recorded
            heap_free(large);
            churn(2, 3000);
            (void)heap_malloc(77);
            _exit(0);
        }
        churn(3, 3000);
        heap_free(inherited);
        int status = 0;
        return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
    });
    BOOST_TEST(end.exited_with(0), end.text);
    trace_contents trace = contents();
    std::map<std::uint32_t, std::uint64_t> images; // pid, start
    for (const trace_text_record &r : trace.records) images[r.pid] = r.image_started;
    BOOST_TEST_REQUIRE(images.size() == 2u);
    std::vector<trace_text_record> programs = trace.of(ALLOT_TRACE_PROGRAM);
    BOOST_TEST_REQUIRE(programs.size() == 2u);
    bool second_is_child = programs[1].numbers[0] == programs[0].pid;
    std::uint32_t parent = programs[second_is_child ? 0 : 1].pid, child = programs[second_is_child ? 1 : 0].pid;
    BOOST_TEST(images[child] > images[parent]);
    auto left_by_child = live_at_end(trace, child);
    BOOST_TEST_REQUIRE(left_by_child.size() == 1u);
    BOOST_TEST(left_by_child.begin()->second.numbers[1] == 77u);
    BOOST_TEST(live_at_end(trace, parent).size() == 1u); // the large one
}

BOOST_FIXTURE_TEST_CASE(with_the_processes_id_in_its_name_each_has_a_file, recording) {
    child_end end = in_child([&] {
        begin((folder / "t.%p").string());
        (void)heap_malloc(10);
        pid_t child = fork();
        if (child == 0) {
            if (chdir("/") != 0) return 1;
            (void)heap_malloc(20);
            _exit(0);
        }
        int status = 0;
        return waitpid(child, &status, 0) == child ? 0 : 1;
    });
    BOOST_TEST(end.exited_with(0), end.text);
    std::set<std::uint64_t> sizes;
    for (const auto &entry : std::filesystem::directory_iterator(folder)) {
        trace_contents trace = read_trace(entry.path());
        BOOST_TEST(entry.path().filename().string() == "t." + std::to_string(trace.records[0].pid));
        BOOST_TEST_REQUIRE(trace.of(ALLOT_TRACE_ALLOC).size() == 1u);
        sizes.insert(trace.of(ALLOT_TRACE_ALLOC)[0].numbers[1]);
    }
    BOOST_TEST((sizes == std::set<std::uint64_t>{10, 20}));
}

BOOST_FIXTURE_TEST_CASE(tenants_are_named_and_transfers_and_resets_are_told, recording) {
    child_end end = in_child([&] {
        begin();
        allot_tenant *a = tenant_create_path("/a"), *b = tenant_create_path("/b");
        heap_set_active(a);
        void *first = heap_malloc(16), *second = heap_malloc(1 << 20);
        (void)second;
        heap_set_active(b);
        (void)heap_malloc(48);
        heap_set_active(a);
        (void)heap_malloc(64);
        if (heap_transfer(first, b) != 0) return 1;
        heap_set_active(nullptr);
        return heap_reset(a) == 0 ? 0 : 2;
    });
    BOOST_TEST(end.exited_with(0), end.text);
    trace_contents trace = contents();
    std::map<std::uint64_t, std::string> paths;
    std::map<std::uint64_t, std::string> payer; // by address
    std::string works_for;
    for (const trace_text_record &r : trace.records) {
        if (r.kind == ALLOT_TRACE_OWNER) paths[r.numbers[0]] = r.text;
        if (r.kind == ALLOT_TRACE_WORKS_FOR) works_for = paths.at(r.numbers[0]);
        if (r.kind == ALLOT_TRACE_ALLOC) payer[r.address] = works_for;
        if (r.kind == ALLOT_TRACE_TRANSFER) payer[r.address] = paths.at(r.numbers[1]);
        if (r.kind == ALLOT_TRACE_FREE) {
            BOOST_TEST(payer[r.address] == "/a"); // by the reset
            payer.erase(r.address);
        }
    }
    BOOST_TEST(trace.of(ALLOT_TRACE_FREE).size() == 2u);
    BOOST_TEST(payer.size() == 2u);
    for (const auto &[address, path] : payer) BOOST_TEST(path == "/b");
}

BOOST_FIXTURE_TEST_CASE(refusals_are_recorded, recording) {
    child_end end = in_child([&] {
        begin();
        return heap_malloc(std::size_t{2} << 30) == nullptr && heap_malloc(std::size_t{1} << 50) == nullptr ? 0 : 1;
    });
    BOOST_TEST(end.exited_with(0), end.text);
    std::vector<trace_text_record> refused = contents().of(ALLOT_TRACE_REFUSED);
    BOOST_TEST_REQUIRE(refused.size() == 2u);
    BOOST_TEST(refused[0].numbers[0] == std::uint64_t{2} << 30);
}

BOOST_FIXTURE_TEST_CASE(handlers_that_allocate_and_free_are_recorded_too, recording) {
    child_end end = in_child([&] {
        begin();
        static void *kept[64];
        static unsigned next = 0;
        struct sigaction action {};
        action.sa_handler = [](int) {
            int error = errno;
            void *&p = kept[next++ % 64];
            heap_free(p);
            p = heap_malloc(1000);
            errno = error;
        };
        sigaction(SIGALRM, &action, nullptr);
        const itimerval every{{0, 200}, {0, 200}};
        setitimer(ITIMER_REAL, &every, nullptr);
        // Sizes that the handler does not use: amid the few instructions of the fast path in the same slab nothing helps.
        std::mt19937 random(1);
        std::vector<void *> blocks(100);
        for (unsigned i = 0; i < 50000 || next < 100; ++i) {
            void *&p = blocks[random() % blocks.size()];
            heap_free(p);
            p = heap_malloc(16 + random() % 500);
        }
        const itimerval never{};
        setitimer(ITIMER_REAL, &never, nullptr);
        for (void *p : blocks) heap_free(p);
        for (void *p : kept) heap_free(p);
        return 0;
    });
    BOOST_TEST(end.exited_with(0), end.text);
    trace_contents trace = contents();
    BOOST_TEST(trace.of(ALLOT_TRACE_LOST).empty());
    BOOST_TEST(live_at_end(trace, trace.records[0].pid).empty());
    std::vector<trace_text_record> allocs = trace.of(ALLOT_TRACE_ALLOC);
    BOOST_TEST(std::any_of(allocs.begin(), allocs.end(), [](const auto &r) { return r.numbers[1] == 1000u; }));
}

BOOST_FIXTURE_TEST_CASE(where_the_file_takes_no_more_one_line_says_so_and_the_program_goes_on, recording) {
    child_end end = in_child([&] {
        const rlimit small{300000, 300000};
        if (setrlimit(RLIMIT_FSIZE, &small) != 0) return 1;
        begin();
        std::vector<std::thread> threads;
        for (unsigned i = 0; i < 3; ++i) threads.emplace_back([i] { churn(i, 30000); });
        for (std::thread &t : threads) t.join();
        churn(7, 30000);
        if (trace_is_on()) return 2;
        heap_free(heap_malloc(10));
        return thread_here.active == thread_here.in_home->current->front ? 0 : 3;
    });
    BOOST_TEST(end.exited_with(0), end.text);
    BOOST_TEST(end.text == "allot: warning: the trace ends early: " + file + " has no more space\n");
    trace_contents trace = contents();
    BOOST_TEST(trace.header.nr_stopped == 1u);
    BOOST_TEST(trace.header.stop_reason == ALLOT_TRACE_STOPPED_NO_SPACE);
    BOOST_TEST(trace.of(ALLOT_TRACE_ALLOC).size() > 5000u);
    BOOST_TEST(std::filesystem::file_size(file) <= 300000u);
}

BOOST_FIXTURE_TEST_CASE(what_is_no_trace_is_left_alone_and_the_program_runs, recording) {
    std::ofstream(file) << "something else";
    child_end end = in_child([&] {
        begin();
        churn(1, 100);
        return trace_is_on() ? 1 : 0;
    });
    BOOST_TEST(end.exited_with(0));
    BOOST_TEST(end.text == "allot: warning: nothing is recorded: " + file + " is no trace, and is left alone\n");
    BOOST_TEST(std::filesystem::file_size(file) == 14u);
}

BOOST_FIXTURE_TEST_CASE(errno_stays_as_it_was, recording) {
    child_end end = in_child([&] {
        begin();
        errno = 4711;
        for (int i = 0; i < 5000; ++i) heap_free(heap_malloc(static_cast<std::size_t>(i)));
        return errno == 4711 ? 0 : 1;
    });
    BOOST_TEST(end.exited_with(0));
}

// The child goes on in the middle of what its parent was recording.
BOOST_FIXTURE_TEST_CASE(a_fork_in_a_handler_leaves_the_parents_records_whole, recording) {
    child_end end = in_child([&] {
        begin();
        static volatile sig_atomic_t forks = 0, in_child_now = 0;
        struct sigaction action {};
        action.sa_handler = [](int) {
            if (in_child_now || forks >= 20) return;
            pid_t child = fork();
            if (child == 0) {
                in_child_now = 1;
                return;
            }
            int status = 0;
            waitpid(child, &status, 0);
            forks = forks + 1;
        };
        sigaction(SIGALRM, &action, nullptr);
        const itimerval every{{0, 1000}, {0, 1000}};
        setitimer(ITIMER_REAL, &every, nullptr);
        for (int i = 0; forks < 20; ++i) {
            void *p = heap_malloc(static_cast<std::size_t>(i % 500));
            if (in_child_now) _exit(0); // with the record that it was amid, and nothing else
            heap_free(p);
            if (in_child_now) _exit(0);
        }
        const itimerval never{};
        setitimer(ITIMER_REAL, &never, nullptr);
        return 0;
    });
    BOOST_TEST(end.exited_with(0), end.text);
    trace_contents trace = contents();
    BOOST_TEST(live_at_end(trace, trace.records[0].pid).empty());
}
