#define BOOST_TEST_MODULE direct
#include <boost/test/unit_test.hpp>

#include "accounting/direct.hpp"

#include "accounting/base/os.hpp"
#include "accounting/drain.hpp"
#include "accounting/obj_cgroup.hpp"
#include "tests/support/stand_still.hpp"
#include "tests/support/verified.hpp"

#include <csignal>
#include <pthread.h>
#include <sys/time.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace allot;

namespace {
constexpr std::uint64_t mib = 1 << 20;
}

BOOST_FIXTURE_TEST_CASE(bytes_are_charged_and_shown_by_kind, verified) {
    std::uint32_t handle = obj_cgroup_of(top);
    BOOST_TEST(charge_bytes(handle, 3 * mib, charge_kind::large));
    BOOST_TEST(charge_bytes(handle, 5000, charge_kind::external));
    BOOST_TEST(keyed(top, "memory.stat", "large") == 3 * mib);
    BOOST_TEST(keyed(top, "memory.stat", "external") == 5000u);
    BOOST_TEST(number(top, "memory.current") == 3 * mib + 5000);
    uncharge_bytes(handle, 3 * mib, charge_kind::large);
    uncharge_bytes(handle, 5000, charge_kind::external);
    BOOST_TEST(usage_of("/case") == 0u);
}

BOOST_FIXTURE_TEST_CASE(giving_back_more_than_was_charged_is_clamped_and_counted, verified) {
    std::uint32_t handle = obj_cgroup_of(top);
    BOOST_TEST(charge_bytes(handle, 1000, charge_kind::external));
    BOOST_TEST(charge_bytes(handle, mib, charge_kind::large));
    std::uint64_t anomalies = region().anomalies.load();
    uncharge_bytes(handle, 5000, charge_kind::external);
    BOOST_TEST(region().anomalies.load() == anomalies + 1);
    BOOST_TEST(number(top, "memory.current") == mib);
    uncharge_bytes(handle, mib, charge_kind::large);
}

BOOST_FIXTURE_TEST_CASE(stocks_are_drained_for_bytes_too, verified) {
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.max", "2M") == 0);
    context *c = context_open(obj_cgroup_of(top));
    BOOST_TEST_REQUIRE(charge(c, 4096));
    BOOST_TEST(usage_of("/case") > 4096u);
    BOOST_TEST(charge_bytes(obj_cgroup_of(top), 2 * mib - 4096, charge_kind::large));
    BOOST_TEST(!charge_bytes(obj_cgroup_of(top), 1, charge_kind::external));
    BOOST_TEST(!charge(c, 16));
    uncharge_bytes(obj_cgroup_of(top), 2 * mib - 4096, charge_kind::large);
    uncharge(c, 4096);
    context_close(c);
}

BOOST_FIXTURE_TEST_CASE(bytes_of_a_destroyed_tenant_are_given_back_by_its_parent, verified) {
    allot_tenant *a = make("/case/a");
    std::uint32_t handle = obj_cgroup_of(a);
    obj_cgroup_grab(handle);
    BOOST_TEST(charge_bytes(handle, mib, charge_kind::external));
    BOOST_TEST_REQUIRE(tenant_destroy(a) == 0);
    BOOST_TEST(keyed(top, "memory.stat", "external") == mib);
    uncharge_bytes(handle, mib, charge_kind::external);
    obj_cgroup_put(handle);
    BOOST_TEST(usage_of("/case") == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_moved_charge_asks_only_the_levels_that_are_new_to_it, verified) {
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.max", "1M") == 0);
    std::uint32_t a = obj_cgroup_of(make("/case/a"));
    std::uint32_t b = obj_cgroup_of(make("/case/b", "512K"));
    context *c = context_open(a);
    for (int i = 0; i < 16; ++i) BOOST_TEST_REQUIRE(charge(c, 65536)); // top is full
    context_close(c);
    for (int i = 0; i < 8; ++i) BOOST_TEST(transfer_charge(a, b, 65536, 1));
    BOOST_TEST(!transfer_charge(a, b, 65536, 1)); // b is full
    BOOST_TEST(usage_of("/case") == mib);
    BOOST_TEST(usage_of("/case/b") == mib / 2);
    BOOST_TEST(keyed(tenant_of(b), "memory.stat", "objects") == 8u);
    BOOST_TEST(keyed(tenant_of(b), "memory.events.local", "oom") == 1u);
    for (std::uint32_t handle : {a, b}) {
        context *freer = context_open(handle);
        for (int i = 0; i < 8; ++i) uncharge(freer, 65536);
        context_close(freer);
    }
}

// Whatever size is named: nothing of others goes back, and a later charge finds the limit where it was.
BOOST_FIXTURE_TEST_CASE(giving_back_absurd_amounts_takes_only_what_is_there, verified) {
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.max", "10M") == 0);
    std::uint32_t own = obj_cgroup_of(top), below = obj_cgroup_of(make("/case/a"));
    BOOST_TEST(charge_bytes(below, 8 * mib, charge_kind::external));
    BOOST_TEST(charge_bytes(own, mib, charge_kind::external));
    for (std::uint64_t bytes : {~std::uint64_t{0}, std::uint64_t{1} << 63, (std::uint64_t{1} << 63) + mib}) {
        std::uint64_t anomalies = region().anomalies.load();
        uncharge_bytes(own, bytes, charge_kind::external);
        BOOST_TEST(region().anomalies.load() == anomalies + 1);
        BOOST_TEST(number(top, "memory.current") == 8 * mib);
    }
    BOOST_TEST(!charge_bytes(own, 3 * mib, charge_kind::external));
    uncharge_bytes(below, 8 * mib, charge_kind::external);
}

BOOST_FIXTURE_TEST_CASE(absurd_amounts_are_refused_with_and_without_a_limit, verified) {
    std::uint32_t handle = obj_cgroup_of(top);
    BOOST_TEST(charge_bytes(handle, mib, charge_kind::external));
    for (std::uint64_t bytes : {~std::uint64_t{0}, ~std::uint64_t{0} - mib + 1, std::uint64_t{1} << 63,
                                std::uint64_t{1} << 48, std::uint64_t{1} << 47})
        BOOST_TEST(!charge_bytes(handle, bytes, charge_kind::external));
    BOOST_TEST(number(top, "memory.current") == mib);
    BOOST_TEST(number(top, "memory.peak") == mib);
    uncharge_bytes(handle, mib, charge_kind::external);
}

// Several threads give back more than there is: what is taken in all is what was there.
BOOST_FIXTURE_TEST_CASE(large_bytes_are_given_back_in_one_step, verified) {
    std::uint32_t handle = obj_cgroup_of(top);
    BOOST_TEST(charge_bytes(handle, 64 * mib, charge_kind::external)); // whatever too much is taken, this pays for it
    for (int round = 0; round < 200; ++round) {
        context *contexts[2] = {context_open(handle), context_open(handle)};
        BOOST_TEST_REQUIRE(context_charge_bytes(contexts[0], 1000 * 4096));
        std::vector<std::thread> threads;
        for (context *c : contexts)
            threads.emplace_back([c] {
                for (int i = 0; i < 600; ++i) context_uncharge_bytes(c, 4096);
            });
        for (std::thread &t : threads) t.join();
        for (context *c : contexts) context_close(c);
        BOOST_TEST_REQUIRE(number(top, "memory.current") == 64 * mib);
    }
    uncharge_bytes(handle, 64 * mib, charge_kind::external);
}

BOOST_FIXTURE_TEST_CASE(large_bytes_of_a_context_find_stocks_and_limits, verified) {
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.max", "4M") == 0);
    context *one = context_open(obj_cgroup_of(top)), *two = context_open(obj_cgroup_of(top));
    BOOST_TEST_REQUIRE(charge(one, 4096));
    BOOST_TEST(usage_of("/case") > 4096u);
    BOOST_TEST(context_charge_bytes(two, 4 * mib - 4096)); // fits only without the stock of the other
    BOOST_TEST(!context_charge_bytes(one, mib));
    refusal left;
    refusal_take(*one, left);
    BOOST_TEST(!settle_refusal(left));
    BOOST_TEST(keyed(top, "memory.stat", "large") == 4 * mib - 4096);
    BOOST_TEST(keyed(top, "memory.events", "oom") == 1u);
    context_uncharge_bytes(one, 4 * mib - 4096);
    BOOST_TEST(keyed(top, "memory.stat", "large") == 0u);
    uncharge(one, 4096);
    context_close(one);
    context_close(two);
}

// What a signal handler cannot uncharge at once is taken by whoever uncharges next.
BOOST_FIXTURE_TEST_CASE(deferred_bytes_are_taken, verified) {
    std::uint32_t handle = obj_cgroup_of(top);
    BOOST_TEST(charge_bytes(handle, 4 * mib, charge_kind::large));
    record_at<struct obj_cgroup>(handle).deferred_large = mib;
    uncharge_bytes(handle, mib, charge_kind::large);
    BOOST_TEST(number(top, "memory.current") == 2 * mib);
    record_at<struct obj_cgroup>(handle).deferred_large = mib;
    region().nr_deferred = 1;
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.max", "2M") == 0);
    BOOST_TEST(charge_bytes(handle, mib, charge_kind::external)); // fits only with them
    uncharge_bytes(handle, mib, charge_kind::external);
    uncharge_bytes(handle, mib, charge_kind::large);
}

// The test plays the code that a handler interrupted by holding a lock, and another thread has what the handler needs.
BOOST_FIXTURE_TEST_CASE(what_a_handler_cannot_give_back_at_once_is_given_back_for_the_next_who_needs_it, verified) {
    std::uint32_t handle = obj_cgroup_of(top);
    context *c = context_open(handle);
    BOOST_TEST(context_charge_bytes(c, 3 * mib));
    BOOST_TEST(charge_bytes(handle, 2 * mib, charge_kind::external));
    std::atomic<int> step{0};
    std::thread other([&] {
        lock_scope direct(direct_lock_of(tenant_from(top)->index), lock_rank::direct);
        lock_scope own(c->lock, lock_rank::context);
        step = 1;
        while (step != 2) os_yield();
    });
    while (step != 1) os_yield();
    {
        lock_word interrupted{0};
        lock_scope held(interrupted, lock_rank::growth);
        BOOST_TEST(!context_charge_bytes(c, mib));
        BOOST_TEST(!charge_bytes(handle, mib, charge_kind::external));
        context_uncharge_bytes(c, 3 * mib);
        uncharge_bytes(handle, 2 * mib, charge_kind::external);
    }
    step = 2;
    other.join();
    BOOST_TEST(usage_of("/case") == 5 * mib);
    BOOST_TEST(verify().differences == 0u);
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.max", "4M") == 0);
    BOOST_TEST(charge_bytes(handle, 4 * mib, charge_kind::external));
    BOOST_TEST(keyed(top, "memory.stat", "large") == 0u);
    BOOST_TEST(keyed(top, "memory.stat", "external") == 4 * mib);
    uncharge_bytes(handle, 4 * mib, charge_kind::external);
    context_close(c);
}

BOOST_FIXTURE_TEST_CASE(deferred_bytes_outlive_their_handle, verified) {
    allot_tenant *a = make("/case/a");
    std::uint32_t handle = obj_cgroup_of(a);
    obj_cgroup_grab(handle);
    BOOST_TEST(charge_bytes(handle, mib, charge_kind::external));
    BOOST_TEST_REQUIRE(tenant_destroy(a) == 0);
    record_at<struct obj_cgroup>(handle).deferred_external = mib;
    obj_cgroup_put(handle);
    BOOST_TEST(number(top, "memory.current") == 0u);
}

BOOST_FIXTURE_TEST_CASE(an_index_that_names_nobody_is_refused_and_noted, verified) {
    std::uint32_t handle = obj_cgroup_of(make("/case/a"));
    destroy_below("/case/a");
    std::uint64_t anomalies = region().anomalies.load();
    BOOST_TEST(!charge_bytes(handle, mib, charge_kind::external));
    uncharge_bytes(handle, mib, charge_kind::external);
    BOOST_TEST(region().anomalies.load() == anomalies + 1);
}

namespace {

// Signals that come while something is charged all the time; what the handler could not charge is counted.
struct interruptions {
    static inline std::uint32_t handle;
    static inline context *own;
    static inline std::atomic<int> handled, refused_in_handler;

    static void on_signal(int) {
        ++handled;
        if (charge_bytes(handle, 4096, charge_kind::external))
            uncharge_bytes(handle, 4096, charge_kind::external);
        else
            ++refused_in_handler;
        if (context_charge_bytes(own, mib))
            context_uncharge_bytes(own, mib);
        else
            ++refused_in_handler;
    }
    explicit interruptions(allot_tenant *t) {
        handle = obj_cgroup_of(t);
        own = context_open(handle);
        handled = refused_in_handler = 0;
        signal(SIGALRM, on_signal);
        itimerval often{{0, 100}, {0, 100}};
        setitimer(ITIMER_REAL, &often, nullptr);
    }
    ~interruptions() {
        itimerval never{};
        setitimer(ITIMER_REAL, &never, nullptr);
        signal(SIGALRM, SIG_DFL);
        context_close(own);
    }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(a_handler_amid_its_threads_charges_is_refused_nothing_without_a_limit, verified) {
    {
        interruptions all_the_time(top);
        for (int i = 0; i < 100'000'000 && interruptions::handled < 5000; ++i) {
            BOOST_TEST_REQUIRE(charge_bytes(interruptions::handle, 4096, charge_kind::external));
            uncharge_bytes(interruptions::handle, 4096, charge_kind::external);
            BOOST_TEST_REQUIRE(context_charge_bytes(interruptions::own, mib));
            context_uncharge_bytes(interruptions::own, mib);
        }
        BOOST_TEST(interruptions::refused_in_handler == 0);
    }
    BOOST_TEST(usage_of("/case") == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_thread_that_is_stopped_in_a_handler_keeps_nobody_from_charging, verified) {
    std::uint32_t handle = obj_cgroup_of(top);
    signal(SIGUSR1, stand_still);
    std::atomic<bool> done{false};
    std::thread stopped([&] {
        while (!done)
            if (charge_bytes(handle, 4096, charge_kind::external)) uncharge_bytes(handle, 4096, charge_kind::external);
    });
    alarm(60); // instead of hanging
    for (int i = 0; i < 5000; ++i) {
        may_go = false;
        pthread_kill(stopped.native_handle(), SIGUSR1);
        while (!is_stopped) os_pause();
        BOOST_TEST_REQUIRE(charge_bytes(handle, 4096, charge_kind::external));
        uncharge_bytes(handle, 4096, charge_kind::external);
        may_go = true;
        while (is_stopped) os_pause();
        for (int pause = 0; pause < i * 37 % 2000; ++pause) os_pause();
    }
    alarm(0);
    done = true;
    stopped.join();
    signal(SIGUSR1, SIG_DFL);
    BOOST_TEST(usage_of("/case") == 0u);
}

BOOST_FIXTURE_TEST_CASE(threads_that_charge_at_a_limit_leave_nothing_behind, verified) {
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.max", "8M") == 0);
    std::uint32_t handles[] = {obj_cgroup_of(make("/case/a", "5M")), obj_cgroup_of(make("/case/b", "5M"))};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            context *contexts[] = {context_open(handles[0]), context_open(handles[1])};
            for (unsigned i = 0; i < 5000; ++i) {
                std::uint32_t handle = handles[(i + t) % 2];
                std::uint64_t bytes = mib * (1 + i % 3) + 4096 * t;
                if (t % 2 == 0) {
                    if (charge_bytes(handle, bytes, charge_kind::large))
                        uncharge_bytes(handle, bytes, charge_kind::large);
                } else if (context_charge_bytes(contexts[(i + t) % 2], bytes)) {
                    context_uncharge_bytes(contexts[(i + t) % 2], bytes);
                }
            }
            for (context *c : contexts) context_close(c);
        });
    for (std::thread &t : threads) t.join();
    BOOST_TEST(usage_of("/case") == 0u);
}
