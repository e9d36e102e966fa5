#define BOOST_TEST_MODULE attempts
#include <boost/test/unit_test.hpp>

#include "accounting/settle.hpp"
#include "alloc/active_scope.hpp"
#include "alloc/attempts.hpp"
#include "alloc/transfer.hpp"
#include "tests/support/allocated.hpp"

#include <allot/alloc.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

using namespace allot;

BOOST_FIXTURE_TEST_CASE(an_attempt_that_leaves_nothing_is_made_once_in_a_visit, allocated) {
    home *h = home_here();
    int attempts = 0;
    void *p = settled_attempts(h, [&](home *in) -> void * {
        ++attempts;
        BOOST_TEST(in == h);
        BOOST_TEST(h->busy);
        return &attempts;
    });
    BOOST_TEST(p == &attempts);
    BOOST_TEST(attempts == 1);
    BOOST_TEST(!h->busy);
}

BOOST_FIXTURE_TEST_CASE(a_failure_that_is_no_refusal_is_final, allocated) {
    int attempts = 0;
    errno = 0;
    void *p = settled_attempts(home_here(), [&](home *) -> void * {
        ++attempts;
        errno = ENOMEM;
        return nullptr;
    });
    BOOST_TEST(p == nullptr);
    BOOST_TEST(errno == ENOMEM);
    BOOST_TEST(attempts == 1);
}

BOOST_FIXTURE_TEST_CASE(a_refusal_is_settled_once_and_the_thread_owes_nothing_afterwards, allocated) {
    allot_tenant *t = make("/case/t", "8K");
    heap_set_active(t);
    void *p = heap_malloc(5000);
    for (std::size_t size : {std::size_t{5000}, std::size_t{100000}, std::size_t{2000000}}) {
        std::uint64_t refusals = keyed(t, "memory.events", "oom");
        errno = 0;
        BOOST_TEST(heap_malloc(size) == nullptr);
        BOOST_TEST(errno == ENOMEM);
        BOOST_TEST(keyed(t, "memory.events", "oom") == refusals + 1);
        BOOST_TEST(!settle_is_due());
    }
    heap_free(p);
    heap_set_active(top);
}

BOOST_FIXTURE_TEST_CASE(growth_in_place_that_is_refused_is_one_refusal, allocated) {
    allot_tenant *t = make("/case/t", "4M");
    heap_set_active(t);
    void *p = heap_malloc(3 << 20);
    BOOST_TEST(heap_realloc(p, 5 << 20) == nullptr);
    BOOST_TEST(keyed(t, "memory.events", "oom") == 1u);
    heap_set_active(top); // somebody else pays elsewhere
    p = heap_realloc(p, 5 << 20);
    BOOST_TEST(heap_owner_of(p) == top);
    BOOST_TEST(tenant_current(t) == 0u);
    BOOST_TEST(keyed(t, "memory.events", "oom") == 1u);
    BOOST_TEST(!settle_is_due());
    heap_free(p);
}

BOOST_FIXTURE_TEST_CASE(what_is_above_high_is_settled_after_the_charge, allocated) {
    allot_tenant *t = make("/case/t");
    BOOST_TEST(tenant_set(t, "memory.high", "64K") == 0);
    heap_set_active(t);
    void *held[200];
    for (void *&p : held) {
        p = heap_malloc(1000);
        BOOST_TEST(!settle_is_due());
    }
    BOOST_TEST(keyed(t, "memory.events", "high") >= 1u);
    for (void *p : held) heap_free(p);
    heap_set_active(top);
}

namespace {

// A cache of a tenant that gives blocks back when it is asked, in the ways that a program's may.
class cache {
public:
    cache(allot_tenant *t, std::size_t block_bytes, std::size_t count) : block_bytes_(block_bytes) {
        active_scope scope(t);
        for (std::size_t i = 0; i < count; ++i) blocks.push_back(heap_malloc(block_bytes));
        id_ = allot_shrinker_register(t, bytes_held, give, this);
        BOOST_TEST_REQUIRE(id_ >= 0);
    }
    ~cache() {
        BOOST_TEST(allot_shrinker_unregister(id_) == 0);
        for (void *p : blocks) heap_free(p);
    }
    cache(const cache &) = delete;
    cache &operator=(const cache &) = delete;

    std::vector<void *> blocks;
    unsigned calls = 0;
    std::function<void()> besides; // what else it does

private:
    static std::size_t bytes_held(void *self) {
        auto &c = *static_cast<cache *>(self);
        return c.blocks.size() * c.block_bytes_;
    }
    static std::size_t give(void *self, std::size_t bytes) {
        auto &c = *static_cast<cache *>(self);
        ++c.calls;
        if (c.besides) c.besides();
        std::size_t given = 0;
        for (; given < bytes && !c.blocks.empty(); c.blocks.pop_back()) {
            given += heap_usable_size(c.blocks.back());
            heap_free(c.blocks.back());
        }
        return given;
    }

    std::size_t block_bytes_;
    int id_;
};

constexpr std::size_t kib = 1024, mib = kib * kib;

struct with_limit : allocated {
    allot_tenant *t = make("/case/t", "8M");
    with_limit() { heap_set_active(t); }
    ~with_limit() {
        heap_set_active(top);
        BOOST_TEST(tenant_current(t) == 0u);
        verify_result all = verify();
        BOOST_TEST(all.differences == 0u, all.first);
    }
    std::uint64_t oom() { return keyed(t, "memory.events", "oom"); }
    // Leaves less than so many bytes.
    std::vector<void *> fill_but(std::size_t rest) {
        std::vector<void *> held;
        while (tenant_current(t) + 16 * kib + rest <= 8 * mib) held.push_back(heap_malloc(16 * kib));
        return held;
    }
};

} // namespace

// Every way to allocate, with caches of small and of large blocks: what the cache gives back is enough.
BOOST_FIXTURE_TEST_CASE(shrinkers_of_the_same_threads_heap_make_room_for_every_kind_of_allocation, with_limit) {
    struct {
        const char *name;
        void *(*allocate)();
    } kinds[] = {
        {"small", [] { return heap_malloc(100); }},
        {"medium", [] { return heap_malloc(40 * kib); }},
        {"units", [] { return heap_malloc(200 * kib); }},
        {"large", [] { return heap_malloc(2 * mib); }},
        {"calloc", [] { return heap_calloc(100, 100); }},
        {"calloc of units", [] { return heap_calloc(100, 5000); }},
        {"aligned", [] { return heap_aligned_alloc(4096, 10000); }},
        {"aligned units", [] { return heap_aligned_alloc(mib, 100000); }},
        {"realloc that moves", [] { return heap_realloc(heap_malloc(10), 30 * kib); }},
        {"realloc of a large block", [] { return heap_realloc(heap_malloc(2 * mib), 4 * mib); }},
    };
    for (std::size_t block_bytes : {std::size_t{64}, 2000 * std::size_t{1}, 100 * kib, mib})
        for (auto &kind : kinds) {
            cache c(t, block_bytes, 5 * mib / block_bytes);
            std::vector<void *> held = fill_but(0);
            void *p = nullptr;
            for (unsigned i = 0; c.calls == 0 && i < 500; ++i) { // small ones: until one is refused at first
                p = kind.allocate();
                BOOST_TEST_REQUIRE(p != nullptr, kind.name);
                held.push_back(p);
            }
            BOOST_TEST(c.calls > 0u, kind.name);
            BOOST_TEST(oom() == 0u, kind.name);
            BOOST_TEST(!settle_is_due());
            for (void *q : held) heap_free(q);
        }
}

BOOST_FIXTURE_TEST_CASE(a_shrinker_may_allocate_switch_tenants_and_reset, with_limit) {
    allot_tenant *other = make("/case/other"), *scratch = make("/case/scratch");
    cache c(t, mib, 6);
    c.besides = [&] {
        void *p = heap_malloc(100); // refused where it is the tenant's own: it is full, and nobody helps inside
        heap_free(p);
        allot_tenant *before = heap_set_active(other);
        p = heap_malloc(5000);
        BOOST_TEST(heap_owner_of(p) == other);
        heap_free(p);
        heap_set_active(scratch);
        BOOST_TEST(heap_malloc(70000) != nullptr);
        heap_set_active(before);
        BOOST_TEST(allot_tenant_reset(scratch) == 0);
        heap_trim(0);
    };
    std::vector<void *> held;
    for (int i = 0; i < 7; ++i) {
        held.push_back(heap_malloc(mib));
        BOOST_TEST(held.back() != nullptr);
        BOOST_TEST(heap_owner_of(held.back()) == t);
    }
    BOOST_TEST(c.calls >= 5u);
    for (void *p : held) heap_free(p);
}

BOOST_FIXTURE_TEST_CASE(a_shrinker_that_leaves_another_tenant_active_is_believed, with_limit) {
    allot_tenant *other = make("/case/other");
    cache c(t, mib, 8);
    c.besides = [&] { heap_set_active(other); };
    void *p = heap_malloc(100);
    BOOST_TEST(heap_owner_of(p) == other);
    heap_free(p);
}

BOOST_FIXTURE_TEST_CASE(modes_decide_whether_shrinkers_are_asked, with_limit) {
    cache c(t, 100 * kib, 80);
    std::vector<void *> held = fill_but(0);
    BOOST_TEST(allot_kmalloc(300 * kib, ALLOT_NOWAIT) == nullptr);
    BOOST_TEST(c.calls == 0u);
    held.push_back(allot_kmalloc(300 * kib, ALLOT_ATOMIC));
    BOOST_TEST(held.back() != nullptr);
    BOOST_TEST(c.calls == 0u);
    std::uint64_t forced = keyed(t, "memory.stat", "forced");
    held.push_back(allot_kmalloc(300 * kib, ALLOT_NOFAIL)); // asks, and need not force
    BOOST_TEST(held.back() != nullptr);
    BOOST_TEST(c.calls > 0u);
    BOOST_TEST(keyed(t, "memory.stat", "forced") == forced);
    held.push_back(allot_kmalloc(20 * mib, ALLOT_NOFAIL)); // asks for all, and forces then
    BOOST_TEST(held.back() != nullptr);
    BOOST_TEST(c.blocks.empty());
    BOOST_TEST(keyed(t, "memory.stat", "forced") > forced);
    for (void *p : held) heap_free(p);
}

BOOST_FIXTURE_TEST_CASE(a_transfer_asks_shrinkers_of_its_new_owner, with_limit) {
    heap_set_active(top);
    void *p = heap_malloc(3 * mib), *q = heap_malloc(3 * mib);
    cache c(t, mib, 7);
    BOOST_TEST(heap_transfer(p, t) == 0);
    BOOST_TEST(c.calls > 0u);
    BOOST_TEST(heap_owner_of(p) == t);
    BOOST_TEST(heap_transfer(q, t) == 0);
    heap_free(p);
    heap_free(q);
}

// Threads share a limit with a cache whose blocks all of them have allocated, so that its shrinker frees from afar, amid
// allocations of every size.
BOOST_FIXTURE_TEST_CASE(caches_of_many_threads_give_way_to_what_is_needed, with_limit) {
    struct shared_cache {
        std::mutex mutex;
        std::vector<void *> blocks;
        std::atomic<unsigned> given{0};
    } shared;
    int id = allot_shrinker_register(
        t,
        [](void *at) {
            auto &c = *static_cast<shared_cache *>(at);
            std::unique_lock<std::mutex> guard(c.mutex, std::try_to_lock);
            return guard ? c.blocks.size() * 1000 : 0;
        },
        [](void *at, std::size_t bytes) {
            auto &c = *static_cast<shared_cache *>(at);
            std::size_t given = 0;
            for (; given < bytes; c.given++) {
                void *p = nullptr;
                {
                    std::unique_lock<std::mutex> guard(c.mutex, std::try_to_lock);
                    if (!guard || c.blocks.empty()) break;
                    p = c.blocks.back();
                    c.blocks.pop_back();
                }
                given += heap_usable_size(p);
                heap_free(p);
            }
            return given;
        },
        &shared);
    BOOST_TEST_REQUIRE(id >= 0);
    std::atomic<unsigned> wrong{0};
    std::vector<std::thread> threads;
    auto live = [&](unsigned seed) {
        std::mt19937 random(seed);
        heap_set_active(t);
        std::deque<std::pair<unsigned char *, std::size_t>> held;
        for (int i = 0; i < 4000; ++i) {
            if (random() % 2 == 0) {
                void *p = heap_malloc(200 + random() % 3000);
                std::lock_guard<std::mutex> guard(shared.mutex);
                if (p != nullptr) shared.blocks.push_back(p);
            } else {
                std::size_t size = 1 + (random() % 10 != 0 ? random() % 20000 : random() % 400000);
                auto *p = static_cast<unsigned char *>(random() % 3 == 0 ? heap_calloc(1, size) : heap_malloc(size));
                if (p != nullptr) {
                    std::memset(p, static_cast<int>(seed), size);
                    held.emplace_back(p, size);
                }
            }
            while (held.size() > 20) {
                if (!is_filled(held.front().first, held.front().second, seed)) wrong++;
                heap_free(held.front().first);
                held.pop_front();
            }
        }
        for (auto [p, size] : held) heap_free(p);
    };
    for (unsigned seed = 1; seed <= 3; ++seed) threads.emplace_back(live, seed);
    for (std::thread &thread : threads) thread.join();
    BOOST_TEST(wrong == 0u);
    BOOST_TEST(shared.given > 100u);
    BOOST_TEST(number(t, "memory.peak") <= 8 * mib);
    BOOST_TEST(allot_shrinker_unregister(id) == 0);
    for (void *p : shared.blocks) heap_free(p);
}
