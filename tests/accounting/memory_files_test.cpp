#define BOOST_TEST_MODULE memory_files
#include <boost/test/unit_test.hpp>

#include "accounting/memory_files.hpp"

#include "accounting/drain.hpp"
#include "tests/support/verified.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

using namespace allot;

BOOST_FIXTURE_TEST_CASE(limits_are_kept_to_the_byte_and_shown_as_the_kernel_does, verified) {
    BOOST_TEST(get(top, "memory.max") == "max\n");
    BOOST_TEST(get(top, "memory.min") == "0\n");
    BOOST_TEST(tenant_set(top, "memory.max", "4097") == 0);
    BOOST_TEST(get(top, "memory.max") == "4097\n");
    BOOST_TEST(tenant_set(top, "memory.high", "1.5K\n") == 0);
    BOOST_TEST(get(top, "memory.high") == "1536\n");
    BOOST_TEST(tenant_set(top, "memory.low", "2M") == 0);
    BOOST_TEST(get(top, "memory.low") == "2097152\n");
    BOOST_TEST(tenant_set(top, "memory.max", "infinity") == 0);
    BOOST_TEST(get(top, "memory.max") == "max\n");
}

BOOST_FIXTURE_TEST_CASE(a_percentage_is_of_the_parents_max, verified) {
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.max", "10M") == 0);
    allot_tenant *a = make("/case/a");
    BOOST_TEST(tenant_set(a, "memory.max", "25%") == 0);
    BOOST_TEST(get(a, "memory.max") == "2621440\n");
    BOOST_TEST(tenant_set(a, "memory.max", "101%") == -EINVAL);
}

// Who is amid a charge has perhaps read the old limit: afterwards nothing may be charged by it, nor refused. The test plays
// somebody who is amid one by holding the lock that it takes.
BOOST_FIXTURE_TEST_CASE(setting_max_waits_for_charges_that_are_on_their_way, verified) {
    context *c = context_open(obj_cgroup_of(top));
    for (const char *max : {"1M", "2M", "max"})
        for (auto [lock, rank] : {std::pair{&c->lock, lock_rank::context},
                                  std::pair{&direct_lock_of(tenant_from(top)->index), lock_rank::direct}}) {
            std::atomic<bool> is_set{false};
            int first = -1, second = -1; // checked here alone: the checks of two threads would race
            lock_take(*lock, rank);
            std::thread setter([&, max = max] {
                first = tenant_set(top, "memory.max", "3M");
                second = tenant_set(top, "memory.max", max);
                is_set = true;
            });
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            BOOST_TEST(!is_set);
            lock_give(*lock, rank);
            setter.join();
            BOOST_TEST(first == 0);
            BOOST_TEST(second == 0);
        }
    context_close(c);
}

BOOST_FIXTURE_TEST_CASE(events_are_flat_keyed_in_the_kernels_order, verified) {
    BOOST_TEST(get(top, "memory.events") == "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\noom_group_kill 0\n");
}

BOOST_FIXTURE_TEST_CASE(events_go_up_and_local_ones_stay, verified) {
    allot_tenant *a = make("/case/a", "4K");
    context *c = context_open(obj_cgroup_of(a));
    BOOST_TEST(!charge(c, 8192));
    BOOST_TEST(keyed(a, "memory.events.local", "oom") == 1u);
    BOOST_TEST(keyed(top, "memory.events", "oom") == 1u);
    BOOST_TEST(keyed(top, "memory.events.local", "oom") == 0u);
    context_close(c);
}

BOOST_FIXTURE_TEST_CASE(going_over_high_is_counted_and_refuses_nothing, verified) {
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.high", "1M") == 0);
    context *c = context_open(obj_cgroup_of(top));
    for (int i = 0; i < 32; ++i) BOOST_TEST_REQUIRE(charge(c, 65536));
    BOOST_TEST(keyed(top, "memory.events", "high") == 1u);
    for (int i = 0; i < 32; ++i) uncharge(c, 65536);
    for (int i = 0; i < 32; ++i) BOOST_TEST_REQUIRE(charge(c, 65536));
    BOOST_TEST(keyed(top, "memory.events", "high") == 2u);
    for (int i = 0; i < 32; ++i) uncharge(c, 65536);
    context_close(c);
}

BOOST_FIXTURE_TEST_CASE(a_write_to_peak_starts_it_anew, verified) {
    context *c = context_open(obj_cgroup_of(top));
    for (int i = 0; i < 64; ++i) BOOST_TEST_REQUIRE(charge(c, 65536));
    for (int i = 0; i < 64; ++i) uncharge(c, 65536);
    BOOST_TEST(number(top, "memory.peak") >= 64u * 65536);
    BOOST_TEST(tenant_set(top, "memory.peak", "reset") == 0);
    BOOST_TEST(number(top, "memory.peak") == usage_of("/case"));
    context_close(c);
}

// Else up to a batch a thread could be used beyond the new limit without anyone noticing.
BOOST_FIXTURE_TEST_CASE(a_limit_below_usage_takes_the_stocks_and_refuses, verified) {
    context *c = context_open(obj_cgroup_of(top));
    for (int i = 0; i < 8; ++i) BOOST_TEST_REQUIRE(charge(c, 16384));
    BOOST_TEST(tenant_set(top, "memory.max", "64K") == 0);
    BOOST_TEST(usage_of("/case") == 8u * 16384);
    BOOST_TEST(!charge(c, 16));
    for (int i = 0; i < 5; ++i) uncharge(c, 16384);
    BOOST_TEST(charge(c, 16384));
    BOOST_TEST(!charge(c, 16));
    for (int i = 0; i < 4; ++i) uncharge(c, 16384);
    context_close(c);
}

BOOST_FIXTURE_TEST_CASE(every_setting_reads_as_it_was_written, verified) {
    const struct {
        const char *file, *before, *written, *after;
    } settings[] = {{"memory.headroom", "0\n", "64K", "65536\n"},
                    {"memory.oom.group", "0\n", "1\n", "1\n"},
                    {"memory.oom.policy", "inherit\n", "kill", "kill\n"},
                    {"memory.fail", "none\n", "3", "3\n"},
                    {"memory.fail", "3\n", "3+", "3+\n"},
                    {"memory.fail", "3+\n", "3-7\n", "3-7\n"},
                    {"memory.fail", "3-7\n", "above 4K", "above 4096\n"},
                    {"memory.fail", "above 4096\n", "none", "none\n"}};
    for (const auto &s : settings) {
        BOOST_TEST(get(top, s.file) == s.before, s.file);
        BOOST_TEST(tenant_set(top, s.file, s.written) == 0, s.written);
        BOOST_TEST(get(top, s.file) == s.after, s.file);
    }
}

BOOST_FIXTURE_TEST_CASE(what_is_no_value_for_a_file_is_refused, verified) {
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.fail", "3-7") == 0);
    for (const char *bad : {"", "0", "-1", "3-", "3-2", "3++", "+", "x", "above", "above x", "above 5MB", "1 2",
                            "none 1", "99999999999999999999"})
        BOOST_TEST(tenant_set(top, "memory.fail", bad) == -EINVAL, bad);
    BOOST_TEST(get(top, "memory.fail") == "3-7\n");
    for (const char *bad : {"", " ", "2", "-1", "yes", "01", "1 1"})
        BOOST_TEST(tenant_set(top, "memory.oom.group", bad) == -EINVAL, bad);
    for (const char *bad : {"", "killed", "kill fail", "KILL"})
        BOOST_TEST(tenant_set(top, "memory.oom.policy", bad) == -EINVAL, bad);
    for (const char *bad : {"", "x", "-4K", "5MB"}) BOOST_TEST(tenant_set(top, "memory.headroom", bad) == -EINVAL, bad);
}

BOOST_FIXTURE_TEST_CASE(blanks_around_a_value_are_ignored, verified) {
    const struct {
        const char *file, *written, *after;
    } settings[] = {{"memory.max", " 64K\n", "65536\n"},           {"memory.low", "\t1K 1\n\n", "1025\n"},
                    {"memory.oom.group", " 1 \n", "1\n"},          {"memory.oom.policy", "\tkill\n", "kill\n"},
                    {"memory.throttle", " inherit ", "inherit\n"}, {"memory.fail", "  3-7 \n", "3-7\n"},
                    {"memory.fail", " above 4K ", "above 4096\n"}, {"cgroup.max.descendants", " 7\n", "7\n"},
                    {"cgroup.max.descendants", " max ", "max\n"}};
    for (const auto &s : settings) {
        BOOST_TEST(tenant_set(top, s.file, s.written) == 0, s.written);
        BOOST_TEST(get(top, s.file) == s.after, s.file);
    }
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.oom.policy", "inherit") == 0);
}

// A stock is charged, and above the new limit by itself.
BOOST_FIXTURE_TEST_CASE(what_threads_hold_ahead_does_not_hide_that_high_is_passed, verified) {
    context *c = context_open(obj_cgroup_of(top));
    BOOST_TEST(charge(c, 16));
    BOOST_TEST(usage_of("/case") > 64u * 1024);
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.high", "32K") == 0);
    BOOST_TEST(usage_of("/case") == 16u);
    BOOST_TEST(charge(c, 40960));
    BOOST_TEST(keyed(top, "memory.events", "high") == 1u);
    uncharge(c, 40960);
    uncharge(c, 16);
    context_close(c);
}

// Lowered below what is used, a limit refuses until usage fits: from then on usage does not grow beyond what it was, or the
// limit, whichever thread was amid a charge when it was written.
BOOST_FIXTURE_TEST_CASE(after_a_limit_was_lowered_usage_never_grows_beyond_it, verified) {
    std::atomic<bool> done{false};
    std::vector<std::thread> chargers;
    allot_tenant *a = make("/case/a");
    for (int i = 0; i < 3; ++i)
        chargers.emplace_back([&, i] {
            context *c = context_open(obj_cgroup_of(i == 0 ? top : a));
            std::vector<std::int64_t> live;
            for (unsigned n = 1; !done; ++n) {
                std::int64_t size = 16 * (1 + n % 1000);
                if (n % 3 != 0 && charge(c, size)) live.push_back(size);
                if (live.size() > 300 || (n % 3 == 0 && !live.empty())) uncharge(c, live.back()), live.pop_back();
            }
            for (std::int64_t size : live) uncharge(c, size);
            context_close(c);
        });
    const page_counter &counter = tenant_from(top)->counter;
    std::uint64_t too_much = 0;
    for (int round = 0; round < 60; ++round) {
        BOOST_TEST_REQUIRE(tenant_set(top, "memory.max", "8M") == 0);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        std::uint64_t limit = std::uint64_t{256} << 10 << round % 4;
        BOOST_TEST_REQUIRE(tenant_set(top, "memory.max", std::to_string(limit).c_str()) == 0);
        std::uint64_t bound = std::max(usage(counter), limit);
        for (int look = 0; look < 2000; ++look) {
            std::uint64_t now = usage(counter);
            too_much += now > bound;
            bound = std::max(std::min(bound, now), limit);
        }
    }
    done = true;
    for (std::thread &t : chargers) t.join();
    BOOST_TEST(too_much == 0u);
}
