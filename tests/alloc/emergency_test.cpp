#define BOOST_TEST_MODULE emergency
#include <boost/test/unit_test.hpp>

#include "alloc/emergency.hpp"
#include "tests/support/allocated.hpp"
#include "tests/support/child.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <pthread.h>
#include <thread>
#include <vector>

using namespace allot;

namespace {

std::atomic<std::uint64_t> handled{0}, wrong{0};

// A block of a size that the main loop does not use: two activities of one thread in the list of one slab are more than
// any allocator without a lock can bear.
void allocate_and_free(int) {
    int error = errno;
    char *p = static_cast<char *>(heap_malloc(1500));
    if (p != nullptr) {
        std::memset(p, 0x33, 1500);
        if (!is_filled(p, 1500, 0x33)) wrong++;
        heap_free(p);
    }
    handled++;
    errno = error;
}

std::vector<void *> to_free;

void free_the_last(int) {
    int error = errno;
    if (!to_free.empty()) {
        heap_free(to_free.back());
        to_free.pop_back();
    }
    handled++;
    errno = error;
}

struct interrupted : allocated {
    struct sigaction before {};
    std::thread sender;
    std::atomic<bool> stop{false};

    interrupted() {
        handled = wrong = 0;
        struct sigaction action {};
        action.sa_handler = allocate_and_free;
        action.sa_flags = SA_RESTART;
        sigaction(SIGUSR1, &action, &before);
    }
    ~interrupted() { sigaction(SIGUSR1, &before, nullptr); }

    static void free_one_each_time() {
        struct sigaction action {};
        action.sa_handler = free_the_last;
        action.sa_flags = SA_RESTART;
        sigaction(SIGUSR1, &action, nullptr);
    }
    void begin(std::chrono::microseconds period) {
        sender = std::thread([this, period, self = pthread_self()] {
            for (; !stop; std::this_thread::sleep_for(period)) pthread_kill(self, SIGUSR1);
        });
    }
    void end() {
        stop = true;
        sender.join();
        BOOST_TEST(handled > 100u);
        BOOST_TEST(wrong == 0u);
    }
};

bool for_half_a_second(std::chrono::steady_clock::time_point begin) {
    return std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(500);
}

} // namespace

// The main loop stays on its fast path, in a slab of its own; what it shares with the handler is the context's word.
BOOST_FIXTURE_TEST_CASE(no_update_of_the_net_word_is_lost_to_a_handler, interrupted) {
    allot_tenant *t = make("/case/t");
    heap_set_active(t);
    std::vector<void *> graduate;
    for (int i = 0; i < 3000; ++i) graduate.push_back(heap_malloc(64));
    for (int i = 0; i < 100; ++i) graduate.push_back(heap_malloc(1500));
    std::uint64_t before = tenant_current(t), pairs = 0;
    void *keep = heap_malloc(1500); // the handler's slab stays
    begin(std::chrono::microseconds(200));
    auto start = std::chrono::steady_clock::now();
    for (; for_half_a_second(start); ++pairs)
        for (int i = 0; i < 1000; ++i) {
            void *p = heap_malloc(64);
            *static_cast<volatile char *>(p) = 1;
            heap_free(p);
        }
    end();
    BOOST_TEST(pairs > 0u);
    heap_free(keep);
    BOOST_TEST(tenant_current(t) == before);
    verify_result exact = verify();
    BOOST_TEST(exact.differences == 0u, exact.first);
    for (void *p : graduate) heap_free(p);
    BOOST_TEST(tenant_current(t) == 0u);
    heap_set_active(top);
}

BOOST_FIXTURE_TEST_CASE(a_handler_that_interrupts_slow_paths_neither_hangs_nor_disturbs_the_count, interrupted) {
    allot_tenant *t = make("/case/t", "30M"), *other = make("/case/other");
    begin(std::chrono::microseconds(100));
    auto start = std::chrono::steady_clock::now();
    for (unsigned round = 0; for_half_a_second(start); ++round) {
        heap_set_active(round % 2 == 0 ? t : other);
        std::vector<void *> held;
        for (std::size_t i = 0; i < 300; ++i)
            held.push_back(heap_malloc(i % 3 == 0 ? 300000 : i % 3 == 1 ? 30000 : 100));
        for (void *p : held) heap_free(p);
    }
    end();
    heap_set_active(top);
    verify_result exact = verify();
    BOOST_TEST(exact.differences == 0u, exact.first);
    BOOST_TEST(tenant_current(t) == 0u);
    BOOST_TEST(tenant_current(other) == 0u);
}

// Of every kind: in slabs of this thread's and of another one's, of tenants with and without slabs of their own, and of whole
// units. What cannot be freed where the handler finds itself is freed when the interrupted call ends.
BOOST_FIXTURE_TEST_CASE(what_handlers_free_amid_slow_paths_is_credited_exactly, interrupted) {
    allot_tenant *t = make("/case/t"), *small = make("/case/small"), *far = make("/case/far");
    auto allocate_some = [&](allot_tenant *tenant) {
        heap_set_active(tenant);
        for (std::size_t i = 0; i < 2000; ++i) to_free.push_back(heap_malloc(i % 10 == 0 ? 100000 : 700 + i % 3 * 900));
    };
    allocate_some(small);
    allocate_some(t);
    std::thread([&] { allocate_some(far); }).join();
    free_one_each_time();
    begin(std::chrono::microseconds(50));
    auto start = std::chrono::steady_clock::now();
    for (unsigned round = 0; for_half_a_second(start); ++round) {
        heap_set_active(round % 2 == 0 ? t : top);
        std::vector<void *> held;
        for (std::size_t i = 0; i < 200; ++i)
            held.push_back(heap_malloc(i % 3 == 0 ? 300000 : i % 3 == 1 ? 30000 : 100));
        for (void *p : held) heap_free(p);
    }
    end();
    heap_set_active(top);
    BOOST_TEST(to_free.size() < 6000u);
    verify_result exact = verify();
    BOOST_TEST(exact.differences == 0u, exact.first);
    for (void *p : to_free) heap_free(p);
    to_free.clear();
    for (allot_tenant *each : {t, small, far}) BOOST_TEST(tenant_current(each) == 0u);
}

// The thread sanitizer runs handlers inside the calls that it intercepts, whether the signal is blocked or not.
#if !defined(__SANITIZE_THREAD__)
BOOST_FIXTURE_TEST_CASE(threads_that_end_while_handlers_run_in_them_neither_hang_nor_lose_a_home, interrupted) {
    std::uint64_t homes = homes_count();
    for (int i = 0; i < 200; ++i) {
        std::atomic<bool> running{true};
        std::thread victim([&] {
            void *p = heap_malloc(100);
            for (int n = 0; n < 20; ++n) raise(SIGUSR1);
            heap_free(p);
            running = false;
        });
        while (running) {
            pthread_kill(victim.native_handle(), SIGUSR1);
            std::this_thread::yield();
        }
        victim.join();
    }
    BOOST_TEST(wrong == 0u);
    BOOST_TEST(homes_count() <= homes + 2);
}

#endif

BOOST_FIXTURE_TEST_CASE(blocks_of_the_reserve_are_aligned_disjoint_and_know_their_size, allocated) {
    std::vector<std::pair<char *, std::size_t>> held;
    for (std::size_t alignment = 1; alignment <= 4096; alignment *= 4)
        for (std::size_t size : {0, 1, 16, 100, 999}) {
            char *p = static_cast<char *>(emergency_alloc(size, alignment < 16 ? 16 : alignment));
            BOOST_TEST_REQUIRE(p != nullptr);
            BOOST_TEST(reinterpret_cast<std::uintptr_t>(p) % alignment == 0u);
            BOOST_TEST(reinterpret_cast<std::uintptr_t>(p) % 16 == 0u);
            BOOST_TEST(heap_usable_size(p) >= size);
            std::memset(p, static_cast<int>(held.size()), heap_usable_size(p));
            held.emplace_back(p, heap_usable_size(p));
        }
    for (std::size_t i = 0; i < held.size(); ++i) {
        BOOST_TEST(is_filled(held[i].first, held[i].second, static_cast<unsigned>(i)));
        heap_free(held[i].first); // was not charged
    }
    BOOST_TEST(tenant_current(top) == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_block_of_the_reserve_is_reallocated_into_an_ordinary_one, allocated) {
    void *p = emergency_alloc(100, 16);
    std::memset(p, 4, 100);
    void *q = heap_realloc(p, 1000);
    BOOST_TEST(is_filled(q, 100, 4));
    BOOST_TEST(heap_owner_of(q) == top);
    heap_free(q);
}

BOOST_FIXTURE_TEST_CASE(a_reserve_that_is_used_up_says_enomem_and_serves_smaller_requests_still, allocated) {
    child_end end = in_child([] {
        errno = 0;
        while (emergency_alloc(10000, 16) != nullptr) {}
        if (errno != ENOMEM) return 1;
        if (emergency_alloc(10000, 16) != nullptr || emergency_alloc(std::size_t{1} << 20, 16) != nullptr) return 2;
        return emergency_alloc(16, 16) != nullptr ? 0 : 3;
    });
    BOOST_TEST(end.exited_with(0), "status " << end.status << " " << end.text);
}

BOOST_FIXTURE_TEST_CASE(the_whole_reserve_is_there_again_when_its_last_block_is_freed, allocated) {
    child_end end = in_child([] {
        for (int life = 0; life < 3; ++life) {
            std::vector<void *> held;
            while (void *p = emergency_alloc(1000, 16)) held.push_back(p);
            if (held.size() < 250) return 1;
            for (std::size_t i = 1; i < held.size(); ++i) heap_free(held[i]);
            if (emergency_alloc(1000, 16) != nullptr) return 2; // one is still in use
            heap_free(held[0]);
        }
        return 0;
    });
    BOOST_TEST(end.exited_with(0), "status " << end.status << " " << end.text);
}
