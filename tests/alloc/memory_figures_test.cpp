#define BOOST_TEST_MODULE memory_figures
#include <boost/test/unit_test.hpp>

#include "accounting/allocator_source.hpp"
#include "alloc/heap.hpp"
#include "alloc/memory_figures.hpp"
#include "alloc/metadata.hpp"
#include "tests/support/allocated.hpp"

#include <atomic>
#include <cmath>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace allot;

namespace {

constexpr std::size_t kib = 1024, mib = kib * kib;

using ranges = std::vector<std::pair<std::uintptr_t, std::uintptr_t>>;

// What the allocator says that it has mapped.
ranges own_ranges() {
    ranges all;
    std::uint32_t frontier = arena_frontier();
    all.emplace_back(address_of(slab_at(0)), address_of(slab_at(0)) + (std::size_t{frontier} << unit_shift));
    all.emplace_back(reinterpret_cast<std::uintptr_t>(slab_at(0)), reinterpret_cast<std::uintptr_t>(slab_at(frontier)));
    metadata_for_each_range([](void *state, std::uintptr_t start,
                               std::size_t bytes) { static_cast<ranges *>(state)->emplace_back(start, start + bytes); },
                            &all);
    return all;
}

// What the kernel says is in memory of mappings that lie wholly in these ranges. Neighbouring ranges may be one mapping.
std::uint64_t rss_of(const ranges &own) {
    auto is_own = [&](std::uintptr_t start, std::uintptr_t end) {
        while (start < end) {
            std::uintptr_t reached = start;
            for (auto [from, to] : own)
                if (from <= start && start < to && to > reached) reached = to;
            if (reached == start) return false;
            start = reached;
        }
        return true;
    };
    std::ifstream smaps("/proc/self/smaps");
    std::uint64_t rss = 0;
    bool counts = false;
    for (std::string line; std::getline(smaps, line);) {
        std::uintptr_t start = 0, end = 0;
        char dash = 0;
        std::istringstream in(line);
        if (in >> std::hex >> start >> dash >> end && dash == '-') counts = is_own(start, end);
        if (counts && line.rfind("Rss:", 0) == 0) rss += std::stoull(line.substr(4)) * kib;
    }
    return rss;
}

} // namespace

// Nobody else must have mapped beside a range of ours, or the mapping is taken for foreign: figures are then too large by
// what is in it, which the two parts of a per cent below leave room for.
BOOST_FIXTURE_TEST_CASE(what_tenants_pay_for_and_what_is_said_of_the_rest_explain_what_is_resident, allocated) {
    std::mt19937 random(5);
    std::vector<void *> held;
    for (const char *path : {"/case/a", "/case/b"}) {
        heap_set_active(make(path));
        for (std::size_t bytes = 0; bytes < 50 * mib;) {
            unsigned kind = random() % 100;
            std::size_t size = kind < 90   ? 1 + random() % 2000
                               : kind < 99 ? 1 + random() % (60 * kib)
                                           : random() % (3 * mib);
            held.push_back(heap_malloc(size));
            std::size_t usable = heap_usable_size(held.back());
            std::memset(held.back(), 1, usable);
            bytes += usable;
        }
    }
    // Every third goes: slots and units that are kept.
    for (std::size_t i = 0; i < held.size(); i += 3) {
        heap_free(held[i]);
        held[i] = nullptr;
    }
    heap_set_active(top);
    memory_figures own = memory_figures_get();
    std::uint64_t rss = rss_of(own_ranges());
    std::uint64_t live = keyed(top, "memory.stat", "slab") + keyed(top, "memory.stat", "large");
    BOOST_TEST_MESSAGE("live " << live << " cache " << own.cache << " overhead " << own.overhead << " resident "
                               << own.resident << " rss " << rss);
#if !defined(__SANITIZE_THREAD__)
    BOOST_TEST(std::abs(static_cast<double>(own.resident) / static_cast<double>(rss) - 1) < 0.02);
#endif
    BOOST_TEST(std::abs(static_cast<double>(live + own.cache + own.overhead) / static_cast<double>(own.resident) - 1) <
               0.02);
    BOOST_TEST(own.cache > 10 * mib);
    BOOST_TEST(own.overhead > 100 * kib);
    BOOST_TEST(keyed(tenant_root(), "memory.stat", "resident") > own.resident); // the region too
    BOOST_TEST(keyed(tenant_root(), "memory.stat", "overhead") > own.overhead);
    BOOST_TEST(keyed(tenant_root(), "memory.stat", "cache") > 10 * mib);
    BOOST_TEST(keyed(top, "memory.stat", "resident") == 0u); // of the process, not of a tenant
    for (void *p : held) heap_free(p);
    heap_trim(0);
    BOOST_TEST(memory_figures_get().resident < own.resident / 4);
}

// Behind the few slots that are listed of a slab, its unit is still in memory from before: it is cache like what is listed.
BOOST_FIXTURE_TEST_CASE(units_that_were_used_before_are_explained_too, allocated) {
    std::vector<void *> held;
    auto hold = [&](std::size_t size, std::size_t bytes) {
        for (std::size_t have = 0; have < bytes; have += heap_usable_size(held.back())) {
            held.push_back(heap_malloc(size));
            std::memset(held.back(), 1, heap_usable_size(held.back()));
        }
    };
    hold(40000, 10 * mib);
    for (void *p : held) heap_free(p);
    held.clear();
    for (std::size_t size = 16; size <= 40000; size += size / 8) hold(size, 1);
    memory_figures own = memory_figures_get();
    std::uint64_t live = keyed(top, "memory.stat", "slab") + keyed(top, "memory.stat", "large");
    BOOST_TEST(std::abs(static_cast<double>(live + own.cache + own.overhead) / static_cast<double>(own.resident) - 1) <
               0.02);
    for (void *p : held) heap_free(p);
}

BOOST_FIXTURE_TEST_CASE(what_was_requested_is_estimated_from_slow_paths, allocated) {
    struct {
        const char *path;
        std::size_t least, most;
        double expected; // requested of usable, within a twentieth
    } kinds[] = {{"/case/exact", 64, 64, 1.0},
                 {"/case/wasteful", 65, 65, 65.0 / 80},
                 {"/case/mixed", 1, 128, 64.5 / 72},
                 {"/case/medium", 1100, 5000, 0.9},
                 {"/case/large", 70000, 200000, 0.98}};
    for (auto &kind : kinds) {
        allot_tenant *t = make(kind.path);
        heap_set_active(t);
        std::mt19937 random(1);
        std::vector<void *> held;
        std::uint64_t requested = 0, usable = 0;
        while (usable < 20 * mib) {
            std::size_t size = kind.least + random() % (kind.most - kind.least + 1);
            held.push_back(heap_malloc(size));
            requested += size;
            usable += heap_usable_size(held.back());
        }
        std::uint64_t estimate = keyed(t, "memory.stat", "requested");
        BOOST_TEST_MESSAGE(kind.path << " requested " << requested << " estimate " << estimate << " usable " << usable);
        BOOST_TEST(std::abs(static_cast<double>(estimate) / static_cast<double>(requested) - 1) < 0.05);
        BOOST_TEST(std::abs(static_cast<double>(requested) / static_cast<double>(usable) - kind.expected) < 0.05);
        for (void *p : held) heap_free(p);
        heap_set_active(top);
    }
}

BOOST_FIXTURE_TEST_CASE(figures_are_read_while_others_work, allocated) {
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 2; ++t)
        threads.emplace_back([&, t] {
            std::mt19937 random(t);
            void *held[100] = {};
            while (!stop) {
                void *&p = held[random() % 100];
                heap_free(p);
                p = heap_malloc(random() % 5000);
            }
            for (void *p : held) heap_free(p);
        });
    for (int i = 0; i < 20; ++i) {
        memory_figures own = memory_figures_get();
        BOOST_TEST(own.cache + own.overhead <= own.resident);
        BOOST_TEST(keyed(top, "memory.stat", "requested") < 100 * mib);
    }
    stop = true;
    for (std::thread &thread : threads) thread.join();
}
