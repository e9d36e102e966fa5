// Large blocks: more than 64 KiB, or aligned to more than that, or small ones that realloc makes grow again and again. Each
// has whole units to itself; pages that it does not touch cost nothing, so rounding to units is a matter of addresses
// alone.
//
// A block that grows does so where it stands, by a charge and a word, as long as its units last and the next ones are
// free; those that realloc has made grow before are placed where room follows. Else it moves: its pages do, where that is
// cheaper than copying them.
//
// Threads: any. Not bound to a home: freeing gives the units back at once.
// Usable size: the request rounded up to pages of 4096 bytes, below that to 256, which is what is charged.
// Invariants: 1. place is `grown` for blocks of up to 64 KiB that came here by realloc, of which there are few at a time;
//   `displaced` for blocks whose pages have moved, which the system keeps apart from what surrounds them (few, too): their
//   units are mapped afresh before they are free again, as long as calls are made; `full` for all others.
//   2. Charged, usable and large_bytes are one number, of the handle in obj_cgroup.
#pragma once

#include "accounting/base/units.hpp"
#include "alloc/fork.hpp"
#include "alloc/heap.hpp"

namespace allot {

enum class large_room : std::uint8_t { none, to_grow };

struct large_block {
    void *block; // nullptr with errno = ENOMEM
    bool zero;   // every byte is zero
};
[[nodiscard]] large_block large_alloc(home *, heap *, std::size_t size, std::size_t alignment,
                                      large_room = large_room::none);
// Of up to 64 KiB, for a block that has grown before. nullptr, without errno: there are enough of them, or the charge is
// not covered without asking.
[[nodiscard]] void *large_alloc_grown(home *, heap *, std::size_t size);
// Writes zeros where there may be others.
void large_clear(void *p, std::size_t bytes);
void large_free(home *, slab *, void *p);
// The rest of it, for one whose header says `free` already while its units are not.
void large_free_taken(home *, slab *);

constexpr std::size_t large_usable(std::size_t size) {
    return (size + page_bytes - 1) & ~(std::size_t{page_bytes} - 1);
}
constexpr std::size_t grown_usable(std::size_t size) {
    constexpr std::size_t grain = 256;
    return size <= page_bytes - grain ? (size + grain - 1) & ~(grain - 1) : large_usable(size);
}

// Changes the size within a visit. must_move, refused: nothing changed. It is refused by the limits of the tenant that
// pays for the block; where that is not the one that would pay for it elsewhere, it must move.
enum class large_resize_result : std::uint8_t { resized, must_move, refused };
struct large_resized {
    large_resize_result result;
    void *block; // where it is now
};
[[nodiscard]] large_resized large_resize(home *, slab *, std::size_t size);

// Who adds up what is alive may look meanwhile.
inline void large_set_bytes(slab *s, std::size_t size, std::size_t bytes) {
    write_shared(s->large_bytes, std::uint64_t{bytes});
    write_shared(s->large_slack, static_cast<std::uint32_t>(bytes - size));
}

// The same without a visit, where a few words are enough: within the units that it has, covered by what the heap holds, or
// where rounding makes the same of it.
[[nodiscard]] inline bool large_resize_here(slab *s, const void *p, const heap *a, std::size_t size) {
    if (kind_of(s) != unit_kind::large || reinterpret_cast<std::uintptr_t>(p) != address_of(s) || a == nullptr ||
        s->obj_cgroup != a->owner || s->generation != process_generation())
        return false; // nullptr: of a thread without a heap
    std::size_t was = s->large_bytes;
    bool is_grown = s->place == slab_place::grown;
    std::size_t bytes = is_grown ? grown_usable(size) : large_usable(size);
    if (bytes != was) {
        std::size_t most = is_grown ? medium_max_bytes : direct_charge_bytes - 1;
        std::size_t has = ((was - 1) | (unit_bytes - 1)) + 1;
        if (bytes < was || bytes > most || bytes > has || !hooks::charge_if_covered(a->account, bytes - was, 0))
            return false;
    }
    large_set_bytes(s, size, bytes);
    return true;
}

// A seccomp filter may forbid to move pages: from now on what moves is copied, and what goes stays mapped as it is. Also in
// handlers.
void large_make_no_calls();
void large_child_start();

} // namespace allot
