// A slab: one unit of 256 KiB cut into slots of one size, and its header.
//
// The header lies out of line, so an overflowing program cannot reach it, and slots are aligned as their size allows. It
// has two lines: the first is written by the thread that owns the slab, the second is what other threads read when they
// free, so that they do not fight over the first.
//
// Free slots form a list through their first word. A link is stored xored with the slab's key: a slot whose first word
// decodes to an address in its own slab was freed and not handed out since (malloc clears the word), which is how a
// double free is noticed, exactly and for three instructions.
//
// Threads: line 0 and the links of the list belong to the home that owns the slab; `owner`, `home` change under adoption
//   only (adopt.hpp). Line 1 is otherwise written before the slab is published.
// Invariants: 1. live slots + free slots in the list = carved; live slots = countdown + balance.
//   2. owner = the home's tag for private slabs; `nobody` where every free must take the slow path: shared slabs, and
//      private ones with exceptions (owner_vector.hpp).
//   3. countdown reaches 0 exactly when the slab's place must change (slab_place).
#pragma once

#include "alloc/binding.hpp"
#include "alloc/size_class.hpp"

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace allot {

inline constexpr unsigned unit_shift = 18;
inline constexpr std::size_t unit_bytes = std::size_t{1} << unit_shift;

struct home;
struct heap;

// A word that one thread writes while others read it, where no order is needed. Elsewhere than under the thread sanitizer
// the load is a plain one, which the compiler may fold into a comparison; no processor tears an aligned word.
#if defined(__SANITIZE_THREAD__)
template<typename T>
T read_shared(const T &word) {
    return __atomic_load_n(&word, __ATOMIC_RELAXED);
}
template<typename T>
T add_shared(T &word, T d) {
    T now = word + d;
    __atomic_store_n(&word, now, __ATOMIC_RELAXED);
    return now;
}
#else
template<typename T>
[[gnu::always_inline]] inline T read_shared(const T &word) {
    return word;
}
template<typename T>
[[gnu::always_inline]] inline T add_shared(T &word, T d) { // by the thread that writes it
    return word += d;
}
#endif
// Of a word that others change by atomic operations.
template<typename T>
[[gnu::always_inline]] inline T read_shared(const std::atomic<T> &word) {
    static_assert(sizeof word == sizeof(T) && std::atomic<T>::is_always_lock_free);
    return read_shared(reinterpret_cast<const T &>(word));
}
template<typename T>
[[gnu::always_inline]] inline void write_shared(T &word, T value) {
    __atomic_store_n(&word, value, __ATOMIC_RELAXED);
}

inline constexpr std::uint64_t nobody = ~std::uint64_t{0};

enum class unit_kind : std::uint8_t {
    unmapped,     // beyond the frontier
    free,         // in page_source's hands
    private_slab, // all slots belong to one owner
    shared_slab,  // each slot has its owner in a vector
    large,        // first unit of a block that has whole units to itself
    large_tail,   // the others
    reserve,      // emergency.hpp
    abandoned,    // cannot be used in this process any more (inherited by fork, then freed)
};

// Where a slab waits for its next use. A full slab is listed again only after a few frees, not after the first, so that
// a heap whose slabs are nearly all full does not go through its lists for every object.
enum class slab_place : std::uint8_t {
    in_bin, // countdown = live slots + 1: never 0
    listed, // has free slots, in the heap's list; countdown = live slots: 0 when it is wholly free
    full,   // in no list; countdown = frees until it is listed
    cut,    // in page_source's hands, wholly free: its slots are listed, and will serve the next slab of the class
    // Large blocks alone, see large.hpp.
    grown,
    displaced,
};

struct alignas(64) slab {
    // Line 0: written by the owner thread on every operation.
    std::uintptr_t list = 0; // address of the first free slot, or unit address | 1 when there is none
    std::uint64_t key = 0;   // links are stored xored with it; new for each life of the slab
    std::uint64_t owner = 0;
    [[no_unique_address]] hooks::slab_part account = {};
    slab **choice = nullptr;     // private slabs: where the heap that allocates from it says which slab is next
    std::uint32_t key_upper = 0; // the upper half of remote_key
    std::uint32_t countdown = 0;
    std::uint32_t inverse = 0; // of the slot size, see slot_starts_at
    std::uint32_t inverse_limit = 0;

    // Line 1: read by threads that free from afar.
    alignas(64) home *at_home = nullptr; // whose inbox takes remote frees
    std::uint64_t remote_key = 0;        // key ^ unit address
    std::uint32_t slot_bytes = 0;
    std::uint8_t size_class = 0;
    unit_kind kind = unit_kind::unmapped;
    slab_place place = slab_place::full;
    // Pages of the unit, from its start, that may hold something; all behind them are zero and in no memory. Outlives what
    // the unit is used for: written by who has the unit, page_source for free ones.
    std::uint8_t touched_pages = 0;
    std::uint32_t obj_cgroup = 0;     // private slabs and large blocks: the owner charged
    std::uint32_t generation = 0;     // of the process that made it (fork.hpp)
    std::uint32_t next = 0, prev = 0; // units, in the list of partial slabs
    std::uint32_t carved = 0;         // slots that were ever listed or handed out in this life
    std::int32_t balance = 0;         // live slots - countdown; changes with the place
    union {
        std::uint32_t capacity = 0;
        std::uint32_t large_slack; // large blocks: usable bytes beyond what was asked for
    };
    union {
        std::uint32_t *owners = nullptr; // slabs: see owner_vector.hpp; nullptr where one owner has all
        std::uint64_t large_bytes;       // large blocks: the usable size
    };
};
static_assert(sizeof(slab) == 128);
static_assert(offsetof(slab, at_home) == 64, "what remote frees read must not share a line with what the owner writes");
static_assert(std::endian::native == std::endian::little, "may_be_marked_free takes bytes 4 to 7 for the upper half");

// Whether a slot of this slab starts at the given granule of the unit. Exact (Lemire, Kaser, Kurz, "Faster remainder by
// direct computation", 2019): for g < 2^14, d <= 2^12 and M = ceil(2^32 / d): g * M mod 2^32 <= M - 1 iff d divides g.
[[gnu::always_inline]] inline bool slot_starts_at(const slab *s, std::uint32_t granule) {
    return granule * s->inverse <= s->inverse_limit;
}
inline std::uint32_t slot_index(const slab *s, std::uint32_t granule) {
    return static_cast<std::uint32_t>((std::uint64_t{s->inverse_limit} + 1) * granule >> 32);
}
constexpr std::uint64_t inverse_of(std::uint32_t slot_bytes) { // M above; 2^32 for a slot of one granule
    std::uint64_t granules = slot_bytes / granule_bytes;
    return ((std::uint64_t{1} << 32) + granules - 1) / granules;
}

// Whoever sees what a unit is sees what was written of it before: release and acquire.
inline void set_kind(slab *s, unit_kind kind) { std::atomic_ref(s->kind).store(kind, std::memory_order_release); }
inline unit_kind kind_of(const slab *s) {
    return static_cast<unit_kind>(__atomic_load_n(reinterpret_cast<const std::uint8_t *>(&s->kind), __ATOMIC_ACQUIRE));
}
inline bool is_cut(const slab *s) {
    unit_kind kind = kind_of(s);
    return kind == unit_kind::private_slab || kind == unit_kind::shared_slab;
}
inline std::uint32_t live_slots(const slab *s) {
    return read_shared(s->countdown) + static_cast<std::uint32_t>(read_shared(s->balance));
}
inline bool has_room(const slab *s) {
    return (s->list & 1) == 0 || s->carved < s->capacity;
} // a slot listed or to carve

// Frees after which a full slab of so many slots is listed again: a sixteenth, at most 64, at least 1.
constexpr std::uint32_t frees_before_listing(std::uint32_t capacity) {
    return capacity < 32 ? 1 : capacity / 16 < 64 ? capacity / 16 : 64;
}

inline std::uint64_t &first_word(void *slot) { return *static_cast<std::uint64_t *>(slot); }

// The upper halves decide alone, and whoever they suspect is looked at again by marked_free: data can equal half a key by
// accident. The lower half is left alone because programs write it in small pieces: a load that spans a store of eight
// bytes (malloc's zero) and a later one of one byte waits until both have left the core.
[[gnu::always_inline]] inline bool may_be_marked_free(const void *slot, const slab *s) {
    std::uint32_t word;
    __builtin_memcpy(&word, static_cast<const char *>(slot) + 4, sizeof word);
    return word == s->key_upper;
}

// The word says that this slot, or whichever slot of the unit carries it, was freed and not handed out since.
inline bool marked_free(std::uint64_t word, std::uint64_t key_here) { return (word ^ key_here) >> unit_shift == 0; }

// Marks a slot that is free and in no list: on its way home, or to be freed when a visit ends.
inline void mark_free(void *slot, const slab *s) { first_word(slot) = s->remote_key ^ (unit_bytes - 1); }

inline constexpr std::uint32_t one_slot = 1, minus_one_slot = ~std::uint32_t{0};

inline std::uintptr_t end_of_list(std::uintptr_t unit_address) { return unit_address | 1; }

// The slab must have a free slot listed: (s->list & 1) == 0.
[[gnu::always_inline]] inline void *slab_pop(slab *s) {
    void *slot = reinterpret_cast<void *>(s->list);
    s->list = first_word(slot) ^ s->key;
    add_shared(s->countdown, one_slot);
    first_word(slot) = 0;
    return slot;
}
[[gnu::always_inline]] inline void slab_push(slab *s, void *slot) {
    first_word(slot) = s->list ^ s->key;
    s->list = reinterpret_cast<std::uintptr_t>(slot);
}

} // namespace allot
