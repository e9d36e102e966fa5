#include "alloc/page_source.hpp"

#include "accounting/base/os.hpp"
#include "alloc/lock.hpp"

#include <bit>

namespace allot {

namespace {

constexpr std::uint32_t word_bits = 64;
constexpr std::uint32_t cache_max_units = 128; // 32 MiB

// One bit a unit. Lives in zero-initialised memory that is touched as the arena grows.
class unit_bits {
public:
    bool test(std::uint32_t i) const { return (words_[i / word_bits] >> (i % word_bits) & 1) != 0; }
    void set(std::uint32_t first, std::uint32_t count) {
        for (std::uint32_t i = first; i < first + count; ++i)
            words_[i / word_bits] |= std::uint64_t{1} << (i % word_bits);
    }
    void clear(std::uint32_t first, std::uint32_t count) {
        for (std::uint32_t i = first; i < first + count; ++i)
            words_[i / word_bits] &= ~(std::uint64_t{1} << (i % word_bits));
    }
    std::uint64_t word(std::uint32_t w) const { return words_[w]; }
    void clear_words(std::uint32_t end) {
        for (std::uint32_t w = 0; w < end; ++w) words_[w] = 0;
    }

private:
    std::uint64_t words_[arena_max_units / word_bits];
};

// All under `lock`.
struct source {
    process_lock lock;
    unit_bits free;
    unit_bits dirty; // says something of free units only
    std::uint32_t nr_free, nr_dirty_free;
    std::uint32_t lowest_free; // no free unit lies below
};
constinit source units{};

std::uint32_t nr_words() { return (arena_frontier() + word_bits - 1) / word_bits; }

void mark_free(std::uint32_t first, std::uint32_t count) {
    units.free.set(first, count);
    units.nr_free += count;
    if (first < units.lowest_free) units.lowest_free = first;
}

unit_run take(std::uint32_t first, std::uint32_t count) {
    bool clean = true;
    for (std::uint32_t i = first; i < first + count; ++i)
        if (units.dirty.test(i)) {
            clean = false;
            units.nr_dirty_free--;
        }
    units.free.clear(first, count);
    units.nr_free -= count;
    if (first == units.lowest_free) units.lowest_free = first + count;
    return {first, clean};
}

// The lowest dirty free unit, else the lowest free one.
std::uint32_t find_one() {
    std::uint32_t clean = 0;
    for (std::uint32_t w = units.lowest_free / word_bits; w < nr_words(); ++w) {
        if (std::uint64_t both = units.free.word(w) & units.dirty.word(w); both != 0)
            return w * word_bits + static_cast<std::uint32_t>(std::countr_zero(both));
        if (clean == 0 && units.free.word(w) != 0)
            clean = w * word_bits + static_cast<std::uint32_t>(std::countr_zero(units.free.word(w)));
        if (units.nr_dirty_free == 0 && clean != 0) break;
    }
    return clean;
}

std::uint32_t run_length(std::uint32_t first, std::uint32_t enough) {
    std::uint32_t length = 0, end = arena_frontier();
    while (length < enough && first + length < end && units.free.test(first + length)) ++length;
    return length;
}

std::uint32_t find_run(std::uint32_t count,
                       std::uint32_t step) { // first unit a multiple of step, counted from address 0
    std::uint32_t end = arena_frontier();
    std::uint32_t phase = static_cast<std::uint32_t>((arena.base >> unit_shift) % step);
    for (std::uint32_t i = units.lowest_free; i + count <= end;) {
        if (i % word_bits == 0 && units.free.word(i / word_bits) == 0) {
            i += word_bits;
            continue;
        }
        if (std::uint32_t rest = (i + phase) % step; rest != 0) {
            i += step - rest;
            continue;
        }
        std::uint32_t length = run_length(i, count);
        if (length == count) return i;
        i += step > 1 ? step : length + 1;
    }
    return 0;
}

bool grow(std::uint32_t count) {
    std::uint32_t grown = 0;
    std::uint32_t first = arena_grow(count, &grown);
    if (first != 0) mark_free(first, grown);
    return first != 0;
}

bool purge_run(std::uint32_t first, std::uint32_t count) {
    if (!os_give_back(arena.base + (std::uintptr_t{first} << unit_shift), std::size_t{count} << unit_shift))
        return false;
    units.dirty.clear(first, count);
    units.nr_dirty_free -= count;
    return true;
}

std::uint32_t purge_locked(std::uint32_t keep) {
    std::uint32_t before = units.nr_dirty_free;
    for (std::uint32_t i = arena_frontier();
         i > 0 && units.nr_dirty_free > keep;) { // from the top: low units are taken first
        --i;
        if (!units.free.test(i) || !units.dirty.test(i)) continue;
        std::uint32_t first = i;
        while (first > 0 && units.nr_dirty_free - (i - first + 1) > keep && units.free.test(first - 1) &&
               units.dirty.test(first - 1))
            --first;
        if (!purge_run(first, i - first + 1)) // forbidden here: what cannot be given back is kept, and stays dirty
            break;
        i = first;
    }
    return before - units.nr_dirty_free;
}

} // namespace

bool units_start() {
    if (!arena_start()) return false;
    lock_guard guard(units.lock);
    mark_free(1, arena_frontier() - 1);
    return true;
}

unit_run units_alloc(std::uint32_t count) {
    lock_guard guard(units.lock);
    for (;;) {
        std::uint32_t first = units.nr_free < count ? 0 : count == 1 ? find_one() : find_run(count, 1);
        if (first != 0) return take(first, count);
        if (!grow(count)) return {0, false};
    }
}

unit_run units_alloc_aligned(std::uint32_t count, std::size_t alignment) {
    std::size_t step = alignment >> unit_shift;
    if (step > arena.max_units) return {0, false};
    lock_guard guard(units.lock);
    for (;;) {
        std::uint32_t first = find_run(count, static_cast<std::uint32_t>(step));
        if (first != 0) return take(first, count);
        if (!grow(count + static_cast<std::uint32_t>(step))) return {0, false};
    }
}

bool units_extend(std::uint32_t first, std::uint32_t count, std::uint32_t more) {
    lock_guard guard(units.lock);
    if (run_length(first + count, more) < more) return false;
    take(first + count, more);
    return true;
}

void units_free(std::uint32_t first, std::uint32_t count) {
    lock_guard guard(units.lock);
    for (std::uint32_t i = first; i < first + count; ++i) {
        write_shared(slab_at(i)->owner, nobody);
        set_kind(slab_at(i), unit_kind::free);
    }
    mark_free(first, count);
    units.dirty.set(first, count);
    units.nr_dirty_free += count;
    if (units.nr_dirty_free > cache_max_units) purge_locked(cache_max_units * 3 / 4);
}

units_held::units_held() { units.lock.lock(); }
units_held::~units_held() { units.lock.unlock(); }

std::uint32_t units_purge(std::uint32_t keep) {
    lock_guard guard(units.lock);
    return purge_locked(keep);
}

unit_statistics units_statistics() {
    lock_guard guard(units.lock);
    return {arena_frontier() == 0 ? 0 : arena_frontier() - 1, units.nr_free, units.nr_dirty_free};
}

void units_child_start() {
    units.lock.make_anew();
    arena_child_start();
    units.free.clear_words(nr_words());
    units.dirty.clear_words(nr_words());
    units.nr_free = units.nr_dirty_free = 0;
    units.lowest_free = arena_frontier();
}

} // namespace allot
