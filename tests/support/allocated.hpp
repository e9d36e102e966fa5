// A fixture for tests of alloc/: after each case everything has been given back, to the byte and to the unit.
//
// It adds to `verified` (recount, counters of every level at zero) what the allocator knows: no live object, and no unit
// in use but the emergency reserve. The case's own thread leaves its home first, as a thread that ends does, because a
// living thread keeps stock and cached slabs. Other threads of the case must have been joined.
#pragma once

#include "alloc/adopt.hpp"
#include "alloc/alloc.hpp"
#include "alloc/fast_path.hpp"
#include "alloc/page_source.hpp"
#include "tests/support/verified.hpp"

#include <cstdint>
#include <cstring>

struct allocated : verified {
    allocated() {
        allot::heap_start();
        allot::heap_set_active(top);
    }
    ~allocated() {
        allot::heap_set_active(allot::tenant_default());
        leave_home();
        BOOST_TEST(allot::verify().differences == 0u, allot::verify().first);
        collect_orphans();
        allot::heap_statistics left = allot::heap_statistics_get();
        BOOST_TEST(left.live_objects == 0u);
        BOOST_TEST(left.live_bytes == 0u);
        BOOST_TEST(units_in_use() == 1u);
    }

    // As the end of this thread would.
    static void leave_home() {
        if (allot::thread_here.in_home != nullptr) allot::home_leave(allot::thread_here.in_home);
    }
    static void collect_orphans() {
        for (allot::home *h = allot::homes_first(); h != nullptr; h = h->next_home) allot::adopt_collect_for(h);
    }
    static std::uint32_t units_in_use() {
        allot::unit_statistics units = allot::units_statistics();
        return units.mapped - units.free;
    }
};

// Fills a block to its last usable byte with a pattern of its own address and a seed, and looks for it again.
inline void fill(void *p, std::size_t bytes, unsigned seed) {
    std::memset(p, static_cast<int>((reinterpret_cast<std::uintptr_t>(p) >> 4) + seed) & 0xff, bytes);
}
inline bool is_filled(const void *p, std::size_t bytes, unsigned pattern) {
    const auto *at = static_cast<const unsigned char *>(p);
    return bytes == 0 || (at[0] == static_cast<unsigned char>(pattern) && std::memcmp(at, at + 1, bytes - 1) == 0);
}
