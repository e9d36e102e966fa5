// What distinguishes the charge paths of Linux's memory controller over its releases, as one constant a release.
//
// It exists so that a release, and each single change between two of them, is a type that the compiler makes a whole engine
// of: nothing is decided at run time, and nothing of it is in the production library. Facts about the kernel: its sources of
// 5.15 and 6.15 to 6.17 and the mailing list; no text of it is used here.
//
// Threads: constants. Owner: none. Invariants: none. Cost: none at run time.
#pragma once

#include <cstdint>

namespace allot::memcg {

inline constexpr std::int64_t page_bytes = 4096;

// What happens when a CPU's byte stock holds more than a page.
enum class byte_overflow : std::uint8_t {
    drain,        // until 5.13: all of it goes, and the stock forgets whose it was
    excess_pages, // from 5.14: whole pages go, the rest stays
};

// A counter tells its parent how much of its usage is protected.
enum class protection_update : std::uint8_t {
    always,       // until 6.0: an exchange for min and one for low with every charge
    when_changed, // from 6.1
};

// Where the fields of a page counter lie.
enum class counter_layout : std::uint8_t {
    packed, // until 6.0: usage beside the limits that every charge reads
    split,  // from 6.1: usage, protection and limits on a cache line each
};

// Whose hierarchy: v1 has a second counter a level for kernel memory, that no stock batches.
enum class hierarchy : std::uint8_t { v2, v1 };

// Statistics of slabs: with each object, or collected in the stock up to a page.
enum class statistics_cache : std::uint8_t { off, on };

// Whether a charge may be followed at once by an uncharge of the page that it filled up.
enum class uncharge_in_charge : std::uint8_t { allowed, forbidden };

struct engine_config {
    byte_overflow overflow = byte_overflow::drain;
    uncharge_in_charge in_charge = uncharge_in_charge::allowed; // matters with excess_pages alone
    statistics_cache statistics = statistics_cache::off;
    protection_update protection = protection_update::always;
    counter_layout layout = counter_layout::packed;
    hierarchy version = hierarchy::v2;
    std::uint32_t batch_pages = 32; // charged ahead for a CPU's page stock, and the most that it keeps
    std::uint32_t page_slots = 1;   // owners that a page stock remembers
    std::uint32_t object_slots = 1; // owners that a byte stock remembers
    std::uint32_t owner_bytes = 8;  // charged with each object for the pointer to its owner
};

// --- one change each, to be put together in variants.def -----------------------------------------------------------------

constexpr engine_config with(engine_config c, byte_overflow o) { return c.overflow = o, c; }
constexpr engine_config with(engine_config c, uncharge_in_charge u) { return c.in_charge = u, c; }
constexpr engine_config with(engine_config c, statistics_cache s) { return c.statistics = s, c; }
constexpr engine_config with(engine_config c, protection_update p) { return c.protection = p, c; }
constexpr engine_config with(engine_config c, counter_layout l) { return c.layout = l, c; }
constexpr engine_config with(engine_config c, hierarchy h) { return c.version = h, c; }
constexpr engine_config with_batch(engine_config c, std::uint32_t pages) { return c.batch_pages = pages, c; }
constexpr engine_config with_page_slots(engine_config c, std::uint32_t n) { return c.page_slots = n, c; }
constexpr engine_config with_object_slots(engine_config c, std::uint32_t n) { return c.object_slots = n, c; }
constexpr engine_config with_owner_bytes(engine_config c, std::uint32_t bytes) { return c.owner_bytes = bytes, c; }

// --- the releases ----------------------------------------------------------------------------------------------------------

inline constexpr engine_config linux_5_13_config{};
// The first two changes of 5.14's series: statistics in the stock, and still drained on overflow. What the 49 times of the
// third change are measured against.
inline constexpr engine_config linux_5_14_before_config = with(linux_5_13_config, statistics_cache::on);
inline constexpr engine_config linux_5_14_config =
    with(with(linux_5_14_before_config, byte_overflow::excess_pages), uncharge_in_charge::forbidden);
inline constexpr engine_config linux_6_0_config = linux_5_14_config;
inline constexpr engine_config linux_6_0_a_config = with(linux_6_0_config, protection_update::when_changed);
inline constexpr engine_config linux_6_0_b_config = with(linux_6_0_config, counter_layout::split);
inline constexpr engine_config linux_6_0_c_config = with_batch(linux_6_0_config, 64);
inline constexpr engine_config linux_6_1_config = with_batch(with(linux_6_0_a_config, counter_layout::split), 64);
inline constexpr engine_config linux_6_16_config = with_page_slots(linux_6_1_config, 7);
inline constexpr engine_config linux_2026_config = with_object_slots(linux_6_16_config, 5);

} // namespace allot::memcg
