#include "alloc/large.hpp"

#include "accounting/base/check.hpp"
#include "accounting/base/os.hpp"
#include "alloc/adopt.hpp"
#include "alloc/misuse.hpp"
#include "alloc/owner_vector.hpp"
#include "alloc/page_source.hpp"
#include "alloc/trace.hpp"
#include "alloc/visit.hpp"

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace allot {

namespace {

constexpr std::uint32_t units_of(std::size_t bytes) {
    return static_cast<std::uint32_t>((bytes + unit_bytes - 1) >> unit_shift);
}

// From this size on moving pages is cheaper than copying them, whatever is in memory at the other end (a call takes about
// 10 microseconds, a page fault more than a tenth of that).
constexpr std::size_t remap_least_bytes = unit_bytes;

// A displaced block costs up to two more maps, of the 65,530 that a process may have.
constexpr std::uint32_t max_displaced = 128;
// A grown block of a few bytes costs a page, a part of a page table and 256 KiB of addresses.
constexpr std::uint32_t max_grown = 64;

// How many there are of either. Bounds alone rest on them, so relaxed.
constinit std::atomic<std::uint32_t> nr_displaced{0}, nr_grown{0};

// Which system calls are made for the sake of moving pages. `no_moves`: one has failed, so from now on blocks are copied;
// `none`: also what displaced blocks leave stays mapped as it is. Written by who is refused a move and by whoever sets up
// seccomp, read by who moves or frees. relaxed: whoever starts a thread, or allocates after the filter is there, comes after
// it.
enum class page_calls : std::uint8_t { all, no_moves, none };
constinit std::atomic<page_calls> calls{page_calls::all};

bool count_one(std::atomic<std::uint32_t> &count, std::uint32_t most) {
    if (count.load(std::memory_order_relaxed) >= most) return false; // a few more in a race are no harm
    count.fetch_add(1, std::memory_order_relaxed);
    return true;
}
void count_one_less(std::atomic<std::uint32_t> &count) { count.fetch_sub(1, std::memory_order_relaxed); }

large_block none() {
    errno = ENOMEM;
    return {nullptr, false};
}

unit_run take_units(std::uint32_t count, std::size_t alignment, large_room room) {
    if (alignment > unit_bytes) return units_alloc_aligned(count, alignment);
    return room == large_room::to_grow ? units_alloc_with_room(count) : units_alloc(count);
}

void set_tails(std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t i = first; i < first + count; ++i) set_kind(slab_at(i), unit_kind::large_tail);
}

// Its fields are all written before its kind says what it is.
void *set_header(unit_run run, std::size_t size, std::size_t bytes, std::uint32_t owner, slab_place place) {
    slab *s = slab_at(run.first);
    set_tails(run.first + 1, units_of(bytes) - 1);
    write_shared(s->owner, nobody);
    s->obj_cgroup = owner;
    s->generation = process_generation();
    large_set_bytes(s, size, bytes);
    s->slot_bytes = 0;
    s->place = place;
    set_kind(s, unit_kind::large);
    return reinterpret_cast<void *>(address_of(s));
}

std::size_t bytes_of_units(std::uint32_t count) { return std::size_t{count} << unit_shift; }

// Units of a displaced block, or its end, before they are free: as they were before something was moved there.
void map_afresh(std::uint32_t first, std::uint32_t count) {
    if (calls.load(std::memory_order_relaxed) == page_calls::none) return;       // they stay as they are
    if (!os_map_over(address_of(slab_at(first)), bytes_of_units(count))) return; // too many maps: they stay as they are
    for (std::uint32_t i = first; i < first + count; ++i) slab_at(i)->touched_pages = 0;
}

void free_units(std::uint32_t first, std::uint32_t count, std::size_t used_bytes, slab_place place) {
    if (place == slab_place::displaced) {
        units_note_used(first, used_bytes);
        map_afresh(first, count);
        used_bytes = 0;
    }
    units_free(first, count, used_bytes);
}

void leave_place(slab *s) {
    if (s->place == slab_place::grown) count_one_less(nr_grown);
    if (s->place == slab_place::displaced) count_one_less(nr_displaced);
}

enum class page_move : std::uint8_t { done, refused, place_lost };

// Of a word that is not zero in the first page: where pages have moved there are zeros.
const std::uint64_t *find_witness(std::uintptr_t page) {
    const auto *word = reinterpret_cast<const std::uint64_t *>(page);
    for (std::size_t i = 0; i < page_bytes / sizeof *word; ++i)
        if (word[i] != 0) return word + i;
    return nullptr;
}

// The pages of a block to these units, which are the caller's.
page_move move_pages(std::uintptr_t from, std::uint32_t first, std::size_t bytes) {
    const std::uint64_t *witness = find_witness(from);
    std::uintptr_t to = address_of(slab_at(first));
    if (os_move_pages(from, to, bytes)) return page_move::done;
    auto before = page_calls::all;
    calls.compare_exchange_strong(before, page_calls::no_moves, std::memory_order_relaxed);
    // Of a block that the program has made several maps of, a system may have moved some.
    ALLOT_CHECK(witness == nullptr || __atomic_load_n(witness, __ATOMIC_RELAXED) != 0,
                "the system has moved a part of a block");
    // What was there may be gone all the same: the system makes room before it finds that it must not move.
    return os_map_over(to, bytes) ? page_move::refused : page_move::place_lost;
}

// Their addresses are not in use any more, and nobody may be given them.
void abandon_units(std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t i = first; i < first + count; ++i) set_kind(slab_at(i), unit_kind::abandoned);
}

// The block's pages have gone. Behind it, in its last unit, may lie what was there before.
void note_moved(std::uint32_t first, std::size_t bytes) {
    std::size_t pages_of_last = bytes % unit_bytes / page_bytes;
    for (std::uint32_t left = units_of(bytes); left != 0; --left, ++first) {
        slab *s = slab_at(first);
        bool is_more_behind = left == 1 && pages_of_last != 0 && s->touched_pages > pages_of_last;
        if (!is_more_behind) s->touched_pages = 0;
    }
}

struct filled_place {
    unit_run run; // first is 0: no units
    slab_place place;
};

// Other units with room behind them, with what the block holds, by whichever way is cheaper.
filled_place fill_elsewhere(const slab *s, std::size_t was, std::uint32_t count) {
    unit_run run = units_alloc_with_room(count);
    bool moves = run.first != 0 && was >= remap_least_bytes && s->place != slab_place::displaced &&
                 calls.load(std::memory_order_relaxed) == page_calls::all && count_one(nr_displaced, max_displaced);
    if (moves) {
        page_move move = move_pages(address_of(s), run.first, was);
        if (move == page_move::done) {
            units_note_used(run.first, was);
            return {run, slab_place::displaced};
        }
        count_one_less(nr_displaced);
        if (move == page_move::place_lost) {
            abandon_units(run.first, count);
            run = units_alloc_with_room(count);
        }
    }
    if (run.first != 0)
        std::memcpy(reinterpret_cast<void *>(address_of(slab_at(run.first))),
                    reinterpret_cast<const void *>(address_of(s)), was);
    return {run, slab_place::full};
}

// Where nothing follows a block that must grow: elsewhere, with its charge, which is that of the new size already. nullptr:
// no units.
void *displace(home *h, slab *s, std::size_t size, std::size_t was, std::size_t bytes) {
    auto [run, place] = fill_elsewhere(s, was, units_of(bytes));
    if (run.first == 0) return nullptr;
    void *moved = set_header(run, size, bytes, s->obj_cgroup, place);
    trace_alloc(h, moved, size, bytes);
    trace_free(h, reinterpret_cast<void *>(address_of(s)));
    slab_place was_at = s->place;
    set_kind(s, unit_kind::free);
    leave_place(s);
    bool pages_moved = place == slab_place::displaced;
    if (pages_moved) note_moved(unit_of(s), was);
    free_units(unit_of(s), units_of(was), pages_moved ? 0 : was, was_at);
    return moved;
}

} // namespace

large_block large_alloc(home *h, heap *a, std::size_t size, std::size_t alignment, large_room room) {
    if (size > arena_max_bytes || alignment > arena_max_bytes) return none();
    std::size_t bytes = large_usable(size == 0 ? 1 : size);
    home_look(h, units_last_use_ms());
    hooks::heap_fold(a->account);
    if (!hooks::charge_object(a->account, bytes)) return none();
    unit_run run = take_units(units_of(bytes), alignment, room);
    if (run.first == 0) {
        hooks::uncharge_object(a->account, bytes);
        return none();
    }
    hooks::owner_grab(a->owner);
    void *block = set_header(run, size, bytes, a->owner, slab_place::full);
    trace_alloc(h, block, size, bytes);
    return {block, run.clean};
}

void *large_alloc_grown(home *h, heap *a, std::size_t size) {
    std::size_t bytes = grown_usable(size);
    if (!hooks::charge_if_covered(a->account, bytes, 1)) return nullptr;
    if (count_one(nr_grown, max_grown)) {
        if (unit_run run = units_alloc_with_room(1); run.first != 0) {
            hooks::owner_grab(a->owner);
            void *block = set_header(run, size, bytes, a->owner, slab_place::grown);
            trace_alloc(h, block, size, bytes);
            return block;
        }
        count_one_less(nr_grown);
    }
    hooks::uncharge_object(a->account, bytes);
    return nullptr;
}

void large_clear(void *p, std::size_t bytes) {
    auto *at = static_cast<char *>(p);
    for (const slab *s = slab_of(p); bytes != 0; ++s, at += unit_bytes) {
        std::size_t here = bytes < unit_bytes ? bytes : unit_bytes;
        std::size_t touched = std::size_t{s->touched_pages} * page_bytes;
        std::memset(at, 0, touched < here ? touched : here);
        bytes -= here;
    }
}

void large_free(home *h, slab *s, void *p) {
    if (reinterpret_cast<std::uintptr_t>(p) != address_of(s)) misuse_invalid(s, p);
    std::size_t bytes = s->large_bytes;
    if (s->generation != process_generation()) { // inherited by fork: the pages that this process copied go back
        hooks::free_inherited(owner_of_block(s, p), bytes);
        if (calls.load(std::memory_order_relaxed) != page_calls::none) (void)os_give_back(address_of(s), bytes);
        set_kind(s, unit_kind::abandoned);
        return;
    }
    // Of two threads that free it at the same time, one finds it free already.
    std::uint8_t was = __atomic_exchange_n(reinterpret_cast<std::uint8_t *>(&s->kind),
                                           static_cast<std::uint8_t>(unit_kind::free), __ATOMIC_ACQ_REL);
    if (was != static_cast<std::uint8_t>(unit_kind::large)) misuse_invalid(s, p);
    trace_free(h, p);
    if (h == nullptr) // nowhere to keep books: it stays, charged
        return set_kind(s, unit_kind::abandoned);
    if (h->busy) return postpone_free(h, p);
    visit here(h);
    if (s->generation != process_generation())
        return set_kind(s, unit_kind::abandoned); // a handler's child has begun anew
    large_free_taken(h, s);
}

void large_free_taken(home *h, slab *s) {
    std::size_t bytes = s->large_bytes;
    std::uint32_t owner = __atomic_load_n(&s->obj_cgroup, __ATOMIC_RELAXED);
    if ((owner & in_transfer) != 0) misuse_invalid(s, reinterpret_cast<void *>(address_of(s)));
    leave_place(s);
    free_units(unit_of(s), units_of(bytes), bytes, s->place);
    credit(h, owner, bytes);
    hooks::owner_put(owner);
}

namespace {

void shrink(heap *a, slab *s, std::size_t was, std::size_t bytes) {
    std::uint32_t first = unit_of(s), has = units_of(was), needs = units_of(bytes);
    if (needs < has) free_units(first + needs, has - needs, was - bytes_of_units(needs), s->place);
    units_note_used(first, was < bytes_of_units(needs) ? was : bytes_of_units(needs));
    hooks::uncharge_shrinkage(a->account, was, bytes);
}

// The growth is charged. False: something else follows.
bool grow_here(slab *s, std::size_t was, std::size_t bytes) {
    std::uint32_t first = unit_of(s), has = units_of(was), needs = units_of(bytes);
    if (needs != has && !units_extend(first, has, needs - has)) return false;
    set_tails(first + has, needs - has);
    if (s->place == slab_place::grown && bytes > medium_max_bytes) {
        leave_place(s);
        s->place = slab_place::full;
    }
    return true;
}

} // namespace

large_resized large_resize(home *h, slab *s, std::size_t size) {
    using enum large_resize_result;
    if (size > arena_max_bytes || s->generation != process_generation()) return {must_move, nullptr};
    bool is_grown = s->place == slab_place::grown;
    std::size_t was = s->large_bytes, bytes = is_grown ? grown_usable(size) : large_usable(size);
    // What is small now is somebody's slot.
    if (is_grown ? bytes < was && size <= was / 2 : size <= medium_max_bytes) return {must_move, nullptr};
    void *block = reinterpret_cast<void *>(address_of(s));
    heap *a = heap_for_owner(h, owner_of_block(s, block));
    if (a == nullptr) return {must_move, nullptr};
    if (bytes > was) {
        bool is_current = a == h->current;
        if (!hooks::charge_growth(a->account, was, bytes)) {
            if (is_current) return {refused, nullptr};
            hooks::unsettled nobodys{}; // who is to have it elsewhere is refused there, or not at all
            hooks::take_refusal(a->account, nobodys);
            return {must_move, nullptr};
        }
        if (!grow_here(s, was, bytes)) {
            if (is_current)
                if (void *moved = displace(h, s, size, was, bytes)) return {resized, moved};
            hooks::uncharge_shrinkage(a->account, bytes, was);
            return {must_move, nullptr};
        }
    } else if (bytes < was) {
        shrink(a, s, was, bytes);
    }
    large_set_bytes(s, size, bytes);
    trace_resize(h, block, size, bytes);
    return {resized, block};
}

void large_make_no_calls() { calls.store(page_calls::none, std::memory_order_relaxed); }

void large_child_start() {
    nr_displaced.store(0, std::memory_order_relaxed);
    nr_grown.store(0, std::memory_order_relaxed);
}

} // namespace allot
