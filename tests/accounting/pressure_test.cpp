// Time is a number here: each case says when something happens and what must be read then. What averages must be is
// computed anew, second by second, with floating point.
#define BOOST_TEST_MODULE pressure
#include <boost/test/unit_test.hpp>

#include "accounting/pressure.hpp"

#include "tests/support/verified.hpp"

#include <atomic>
#include <cmath>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

using namespace allot;

namespace {

constexpr std::uint64_t s = 1'000'000; // a second
constexpr std::uint64_t start = 40 * s;

struct fresh {
    pressure p{};
    fresh() { pressure_bring_up_to(p, start); }
    pressure *operator->() { return &p; }
};

double average(const pressure_line &line, int a) { return static_cast<double>(line.average[a]) / pressure_one; }

std::string text(const pressure &p) {
    char buffer[256];
    file_text out(buffer, sizeof buffer);
    pressure_write(p, out);
    out.end();
    return buffer;
}

} // namespace

BOOST_FIXTURE_TEST_CASE(nothing_that_stalls_is_all_zeros_in_the_kernels_format, verified) {
    pressure p{};
    pressure_bring_up_to(p, start);
    BOOST_TEST(text(p) == "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
                          "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
}

BOOST_FIXTURE_TEST_CASE(a_stall_counts_while_it_lasts, verified) {
    fresh p;
    pressure_begin(p.p, start, 4);
    pressure_bring_up_to(p.p, start + 3 * s / 2);
    BOOST_TEST(p->some.total == 3 * s / 2);
    BOOST_TEST(pressure_stalled(p.p) == 1u);
    pressure_end(p.p, start + 2 * s, 4);
    pressure_bring_up_to(p.p, start + 10 * s);
    BOOST_TEST(p->some.total == 2 * s);
    BOOST_TEST(p->full.total == 0u);
    BOOST_TEST(pressure_stalled(p.p) == 0u);
}

BOOST_FIXTURE_TEST_CASE(stalls_that_overlap_count_once, verified) {
    fresh p;
    pressure_begin(p.p, start, 3);
    pressure_begin(p.p, start + 1 * s, 3);
    pressure_end(p.p, start + 2 * s, 3);
    pressure_end(p.p, start + 4 * s, 3);
    BOOST_TEST(p->some.total == 4 * s);
    BOOST_TEST(p->full.total == 0u);
}

BOOST_FIXTURE_TEST_CASE(all_threads_stalled_is_full, verified) {
    fresh p;
    pressure_begin(p.p, start, 2);
    pressure_begin(p.p, start + 1 * s, 2);
    pressure_end(p.p, start + 4 * s, 2);
    pressure_end(p.p, start + 5 * s, 2);
    BOOST_TEST(p->some.total == 5 * s);
    BOOST_TEST(p->full.total == 3 * s);
}

BOOST_FIXTURE_TEST_CASE(a_stall_known_afterwards_counts_what_nobody_has_counted, verified) {
    fresh p;
    pressure_past(p.p, start + 10 * s, 1 * s, 2);
    BOOST_TEST(p->some.total == 1 * s);
    pressure_begin(p.p, start + 10 * s, 2);
    pressure_past(p.p, start + 11 * s, 1 * s, 2); // within the other one, which counts by itself
    pressure_end(p.p, start + 12 * s, 2);
    BOOST_TEST(p->some.total == 3 * s);
    pressure_past(p.p, start + 13 * s, 5 * s, 1); // it began before the last change
    BOOST_TEST(p->some.total == 4 * s);
    BOOST_TEST(p->full.total >= 1 * s);
}

BOOST_FIXTURE_TEST_CASE(averages_follow_the_kernels_formula, verified) {
    fresh p;
    pressure_begin(p.p, start, 2);
    pressure_end(p.p, start + 1 * s, 2); // half of a period
    pressure_bring_up_to(p.p, start + 2 * s);
    const double left[] = {std::exp(-2.0 / 10), std::exp(-2.0 / 60), std::exp(-2.0 / 300)};
    for (int a = 0; a < 3; ++a)
        BOOST_TEST(average(p->some, a) == 0.5 * (1 - left[a]), boost::test_tools::tolerance(1e-6));
    pressure_bring_up_to(p.p, start + 22 * s);
    for (int a = 0; a < 3; ++a)
        BOOST_TEST(average(p->some, a) == 0.5 * (1 - left[a]) * std::pow(left[a], 10),
                   boost::test_tools::tolerance(1e-6));
    BOOST_TEST(text(p.p) == "some avg10=1.23 avg60=1.17 avg300=0.31 total=1000000\n"
                            "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
}

// A gap in which nobody looked must not be smeared over: the stall ended in its first period.
BOOST_FIXTURE_TEST_CASE(hours_without_a_look_are_the_same_as_looks_all_the_time, verified) {
    fresh rarely, often;
    for (pressure *p : {&rarely.p, &often.p}) pressure_begin(*p, start + s / 2, 1);
    for (std::uint64_t t = start + s; t < start + 7 * s; t += s / 4) pressure_bring_up_to(often.p, t);
    for (pressure *p : {&rarely.p, &often.p}) pressure_end(*p, start + 7 * s, 1);
    for (std::uint64_t t = start + 7 * s; t < start + 100 * s; t += s) pressure_bring_up_to(often.p, t);
    for (pressure *p : {&rarely.p, &often.p}) pressure_bring_up_to(*p, start + 100 * s);
    for (int a = 0; a < 3; ++a) BOOST_TEST(std::abs(average(rarely->some, a) - average(often->some, a)) < 1e-7);
    BOOST_TEST(rarely->some.total == often->some.total);
    pressure_bring_up_to(rarely.p, start + 1'000'000 * s);
    for (int a = 0; a < 3; ++a) BOOST_TEST(average(rarely->some, a) < 1e-6);
}

BOOST_FIXTURE_TEST_CASE(a_stall_without_end_reaches_100_percent, verified) {
    fresh p;
    pressure_begin(p.p, start, 1);
    pressure_bring_up_to(p.p, start + 10'000 * s);
    BOOST_TEST(text(p.p) == "some avg10=100.00 avg60=100.00 avg300=100.00 total=10000000000\n"
                            "full avg10=100.00 avg60=100.00 avg300=100.00 total=10000000000\n");
    pressure_bring_up_to(p.p, start + 9'000 * s); // a clock read before, looked at later
    BOOST_TEST(p->some.total == 10'000 * s);
}

// Random stalls of four threads, against sums made in steps of a millisecond.
BOOST_FIXTURE_TEST_CASE(random_stalls_are_counted_as_by_a_clock_that_ticks, verified) {
    std::mt19937 random(7);
    fresh p;
    constexpr int nr_threads = 4;
    bool stalled[nr_threads] = {};
    constexpr std::uint64_t tick = s / 1000;
    std::uint64_t some = 0, full = 0, in_period = 0;
    double expected[3] = {};
    for (std::uint64_t t = 0; t < 60'000; ++t) {
        for (bool &b : stalled) {
            if (random() % 800 != 0) continue;
            b = !b;
            (b ? pressure_begin : pressure_end)(p.p, start + t * tick, nr_threads);
        }
        int n = 0;
        for (bool b : stalled) n += b;
        some += n > 0 ? tick : 0;
        full += n == nr_threads ? tick : 0;
        in_period += n > 0 ? tick : 0;
        if ((t + 1) % 2000 != 0) continue;
        for (int a = 0; a < 3; ++a) {
            double left = std::exp(-2.0 / pressure_seconds[a]);
            expected[a] = expected[a] * left + static_cast<double>(in_period) / (2.0 * s) * (1 - left);
        }
        in_period = 0;
    }
    pressure_bring_up_to(p.p, start + 60'000 * tick);
    BOOST_TEST(p->some.total == some);
    BOOST_TEST(p->full.total == full);
    for (int a = 0; a < 3; ++a) BOOST_TEST(std::abs(average(p->some, a) - expected[a]) < 1e-6);
}

// Threads that stall and end at once, with the real clock: nothing is lost, and no more than the time that passed counted.
BOOST_FIXTURE_TEST_CASE(threads_at_once_count_each_moment_once, verified) {
    fresh p;
    std::atomic<std::uint64_t> clock{start};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 20'000; ++i) {
                pressure_begin(p.p, clock += 7, 4);
                pressure_end(p.p, clock += 5, 4);
            }
        });
    for (std::thread &t : threads) t.join();
    BOOST_TEST(pressure_stalled(p.p) == 0u);
    BOOST_TEST(p->some.total <= clock - start);
    BOOST_TEST(p->some.total >= 20'000u * 5);
    BOOST_TEST(p->full.total <= p->some.total);
}
