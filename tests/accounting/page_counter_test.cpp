#define BOOST_TEST_MODULE page_counter
#include <boost/test/unit_test.hpp>

#include "accounting/page_counter.hpp"

#include <chrono>
#include <thread>
#include <vector>

using namespace allot;

namespace {

struct level : page_counter {
    explicit level(std::uint64_t most = unlimited) {
        word = 0;
        peak = 0;
        min = low = 0;
        high = unlimited;
        max = most;
        nr_contexts = 0;
        parent = depth = 0;
        min_usage = low_usage = children_min_usage = children_low_usage = 0;
    }
};

// For a second, again and again: this thread does job(0, round) and another job(1, round) at the same moment; then this one
// check(round).
template<class Job, class Check>
void at_once(Job job, Check check) {
    std::atomic<unsigned> begun{0}, ended{0};
    auto wait_for = [](const std::atomic<unsigned> &step, unsigned number) {
        for (unsigned looks = 1; step.load() < number; ++looks)
            if (looks % 256 == 0) std::this_thread::yield();
    };
    constexpr unsigned no_more = ~0u;
    std::thread other([&] {
        for (unsigned round = 1;; ++round) {
            wait_for(begun, round);
            if (begun.load() == no_more) return;
            job(1, round);
            ended = round;
        }
    });
    auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    for (unsigned round = 1; std::chrono::steady_clock::now() < end; ++round) {
        begun = round;
        // It takes the other some time to see that, more or less.
        for (unsigned moments = round % 512; moments != 0; --moments)
            std::atomic_signal_fence(std::memory_order_seq_cst);
        job(0, round);
        wait_for(ended, round);
        check(round);
    }
    begun = no_more;
    other.join();
}

} // namespace

BOOST_AUTO_TEST_CASE(a_charge_happens_exactly_if_it_fits) {
    level c(100);
    BOOST_TEST(page_counter_try_charge(c, 60) == 60u);
    BOOST_TEST(page_counter_try_charge(c, 41) == charge_refused);
    BOOST_TEST(usage(c) == 60u);
    BOOST_TEST(page_counter_try_charge(c, 40) == 100u);
    BOOST_TEST(page_counter_try_charge(c, 1) == charge_refused);
    BOOST_TEST(page_counter_uncharge(c, 100) == 0u);
    BOOST_TEST(usage(c) == 0u);
}

BOOST_AUTO_TEST_CASE(sizes_that_wrap_or_pass_the_range_are_refused) {
    level c;
    BOOST_TEST(page_counter_try_charge(c, ~std::uint64_t{0}) == charge_refused);
    BOOST_TEST(page_counter_try_charge(c, 64) == 64u);
    BOOST_TEST(page_counter_try_charge(c, ~std::uint64_t{0} - 32) == charge_refused);
    BOOST_TEST(page_counter_try_charge(c, static_cast<std::uint64_t>(usage_max)) == charge_refused);
    BOOST_TEST(usage(c) == 64u);
}

BOOST_AUTO_TEST_CASE(usage_never_falls_below_zero_and_what_was_missing_is_told) {
    level c;
    BOOST_TEST(page_counter_try_charge(c, 48) == 48u);
    BOOST_TEST(page_counter_uncharge(c, 64) == 16u);
    BOOST_TEST(usage(c) == 0u);
}

BOOST_AUTO_TEST_CASE(a_charge_keeps_the_generation_of_a_recount) {
    level c;
    c.word = (std::int64_t{32} << usage_shift) | 7;
    BOOST_TEST(page_counter_try_charge(c, 16) == 48u);
    BOOST_TEST(page_counter_uncharge(c, 40) == 0u);
    BOOST_TEST(c.word.load() == ((std::int64_t{8} << usage_shift) | 7));
}

BOOST_AUTO_TEST_CASE(lowering_max_below_usage_refuses_until_usage_fits) {
    level c(100);
    BOOST_TEST(page_counter_try_charge(c, 80) == 80u);
    c.max = 50;
    BOOST_TEST(page_counter_try_charge(c, 1) == charge_refused);
    BOOST_TEST(page_counter_uncharge(c, 40) == 0u);
    BOOST_TEST(page_counter_try_charge(c, 10) == 50u);
}

BOOST_AUTO_TEST_CASE(many_threads_never_pass_max_and_leave_zero) {
    level c(1000);
    std::atomic<bool> over{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            for (int i = 0; i < 20000; ++i) {
                std::uint64_t bytes = 100 + static_cast<std::uint64_t>(t) * 70;
                std::uint64_t now = page_counter_try_charge(c, bytes);
                if (now == charge_refused) continue;
                page_counter_raise_peak(c, now);
                if (now > 1000) over = true;
                if (page_counter_uncharge(c, bytes) != 0) over = true;
            }
        });
    for (std::thread &t : threads) t.join();
    BOOST_TEST(!over);
    BOOST_TEST(usage(c) == 0u);
    BOOST_TEST(c.peak.load() <= 1000u);
}

// Of two who look at once and find room for one, one gets it.
BOOST_AUTO_TEST_CASE(what_fits_once_is_given_once) {
    level c(1000);
    bool got[2] = {};
    unsigned wrong = 0;
    at_once([&](unsigned thread, unsigned) { got[thread] = page_counter_try_charge(c, 600) != charge_refused; },
            [&](unsigned) {
                wrong += got[0] == got[1] || usage(c) != 600;
                (void)page_counter_uncharge(c, usage(c));
            });
    BOOST_TEST(wrong == 0u);
}

// Of two who reach one at once, the lower must not take the place of the higher.
BOOST_AUTO_TEST_CASE(a_peak_is_never_lost_to_a_lower_one) {
    level c;
    unsigned lost = 0;
    at_once([&](unsigned thread, unsigned round) { page_counter_raise_peak(c, 2 * round + thread); },
            [&](unsigned round) { lost += c.peak.load() != 2 * round + 1; });
    BOOST_TEST(lost == 0u);
}

BOOST_AUTO_TEST_CASE(the_parent_is_told_the_protected_part_of_usage) {
    level parent, c;
    c.min = 100;
    c.low = 30;
    (void)page_counter_try_charge(c, 60);
    page_counter_propagate(c, &parent);
    BOOST_TEST(parent.children_min_usage.load() == 60u);
    BOOST_TEST(parent.children_low_usage.load() == 30u);
    (void)page_counter_try_charge(c, 100);
    page_counter_propagate(c, &parent);
    BOOST_TEST(parent.children_min_usage.load() == 100u);
    c.min = 0;
    (void)page_counter_uncharge(c, 140);
    page_counter_propagate(c, &parent);
    BOOST_TEST(parent.children_min_usage.load() == 0u);
    BOOST_TEST(parent.children_low_usage.load() == 20u);
}

// Two that propagate at once may each hold an old usage; what stays in the end must be the truth.
BOOST_AUTO_TEST_CASE(racing_propagations_leave_the_truth) {
    level parent, c;
    c.min = 500;
    unsigned untrue = 0;
    at_once(
        [&](unsigned thread, unsigned round) {
            if (round % 2 == thread)
                (void)page_counter_try_charge(c, 300);
            else
                (void)page_counter_uncharge(c, 200);
            page_counter_propagate(c, &parent);
        },
        [&](unsigned) {
            std::uint64_t part = usage(c) < 500 ? usage(c) : 500;
            untrue += c.min_usage.load() != part || parent.children_min_usage.load() != part;
            if (usage(c) > 400) (void)page_counter_uncharge(c, 400);
            page_counter_propagate(c, &parent);
        });
    BOOST_TEST(untrue == 0u);
}
