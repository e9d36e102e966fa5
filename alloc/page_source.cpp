#include "alloc/page_source.hpp"

#include "accounting/base/os.hpp"
#include "alloc/lock.hpp"
#include "alloc/partial_list.hpp"
#include "alloc/unit_bits.hpp"

#include <time.h>

namespace allot {

namespace {

// What is locked in memory, or forbidden here, does not go: after so many runs of which nothing has gone it is left at that.
constexpr std::uint32_t refusals_max = 4;
constexpr std::uint64_t refusal_pause_ms = 1000;

// Before a block that may grow, where nothing says where to put it: room for slabs, which come from below.
constexpr std::uint32_t gap_units = 4;
constexpr std::uint32_t least_room = 3;

// All under `lock`.
struct source {
    process_lock lock;
    unit_bits free;
    unit_bits dirty; // says something of free units only
    std::uint32_t nr_free;
    // Also read without the lock, by who asks himself whether to look at the clock.
    std::uint32_t nr_dirty_free;
    std::uint32_t nr_going_back;   // units that are neither free nor anybody's, because the system is taking them back
    std::uint32_t lowest_free;     // no free unit lies below
    std::uint32_t roomy_next;      // where the next search for room begins
    std::uint32_t cut[nr_classes]; // lists of free units
    idle_memory idle;
    // Above the bound the system is not asked again before this: it has just taken back nothing at all.
    std::uint64_t refused_until_ms;
};
constinit source units{}; // all zero: of its megabyte only what is used is in memory
// Read under the lock. Written under it, the delay also without: see units_purge_when_asked_only.
constinit purge_settings purging{};

// Written by whoever uses units; read by anyone, relaxed: it need not be the latest.
constinit std::uint64_t last_use_ms = 0;

purge_settings purging_now() { return {read_shared(purging.delay_ms), purging.retain_units}; }

void mark_free(std::uint32_t first, std::uint32_t count) {
    units.free.set(first, count);
    units.nr_free += count;
    if (first < units.lowest_free) units.lowest_free = first;
}

void set_nr_dirty(std::uint32_t count) { write_shared(units.nr_dirty_free, count); }

// Of a free unit that is going to be something else.
void forget_cut(std::uint32_t unit) {
    slab *s = slab_at(unit);
    if (s->place != slab_place::cut) return;
    partial_unlink(units.cut[s->size_class], s);
    s->place = slab_place::full;
}

// Free units, also going back.
unit_run take(std::uint32_t first, std::uint32_t count) {
    std::uint32_t nr_dirty = 0;
    for (std::uint32_t i = first; i < first + count; ++i)
        if (units.dirty.test(i)) {
            forget_cut(i);
            ++nr_dirty;
        }
    units.free.clear(first, count);
    units.nr_free -= count;
    if (nr_dirty != count) units.idle.note_taken_fresh(count - nr_dirty);
    if (nr_dirty != 0) {
        set_nr_dirty(units.nr_dirty_free - nr_dirty);
        units.idle.note_taken(units.nr_dirty_free);
    }
    if (first == units.lowest_free) units.lowest_free = first + count;
    return {first, nr_dirty == 0};
}

// The lowest dirty free unit, else the lowest free one; 0: none.
std::uint32_t find_one() {
    std::uint32_t end = arena_frontier();
    std::uint32_t found = units.nr_dirty_free != 0
                              ? unit_bits::next_of_both(units.free, units.dirty, units.lowest_free, end)
                              : units.free.next_set(units.lowest_free, end);
    return found == end ? 0 : found;
}

std::uint32_t run_length(std::uint32_t first, std::uint32_t enough) {
    std::uint32_t end = arena_frontier();
    return units.free.next_clear(first, enough < end - first ? first + enough : end) - first;
}

std::uint32_t find_run(std::uint32_t count,
                       std::uint32_t step) { // first unit a multiple of step, counted from address 0
    std::uint32_t end = arena_frontier();
    std::uint32_t phase = static_cast<std::uint32_t>((arena.base >> unit_shift) % step);
    for (std::uint32_t i = units.lowest_free; i + count <= end;) {
        i = units.free.next_set(i, end);
        if (std::uint32_t rest = (i + phase) % step; rest != 0) {
            i += step - rest;
            continue;
        }
        if (i + count > end) break;
        std::uint32_t length = run_length(i, count);
        if (length == count) return i;
        i += step > 1 ? step : length + 1;
    }
    return 0;
}

// Where `count` units are free and as many behind them, or none but beyond the frontier. Dirty ones first: what grew there
// before is there. Not all of a fragmented arena is looked at each time: the next search goes on where this one ends, so that
// what was freed is found sooner or later, wherever it is.
std::uint32_t find_roomy(std::uint32_t count) {
    std::uint32_t end = arena_frontier(), room = count > least_room ? count : least_room, clean = 0;
    std::uint32_t first = units.roomy_next > units.lowest_free ? units.roomy_next : units.lowest_free;
    bool has_wrapped = first == units.lowest_free;
    for (int looks = 64; looks > 0; --looks) {
        first = units.free.next_set(first, end);
        if (first == end) {
            if (has_wrapped) break;
            has_wrapped = true;
            first = units.free.next_set(units.lowest_free, end);
            if (first == end) break;
        }
        std::uint32_t behind = units.free.next_clear(first, end);
        std::uint32_t least = behind == end ? count : count + room;
        std::uint32_t warm = unit_bits::next_of_both(units.free, units.dirty, first, behind);
        if (warm + least <= behind) {
            units.roomy_next = warm;
            return warm;
        }
        if (clean == 0 && first + gap_units + least <= behind) clean = first + gap_units;
        first = behind;
    }
    units.roomy_next = first;
    if (clean != 0) return clean;
    std::uint32_t last = unit_bits::start_of_both(units.free, units.free, units.lowest_free, end);
    return last + gap_units + count <= end ? last + gap_units : 0;
}

bool grow(std::uint32_t count) {
    std::uint32_t grown = 0;
    std::uint32_t first = arena_grow(count, &grown);
    if (first != 0) mark_free(first, grown);
    return first != 0;
}

// The lock is held, and given up meanwhile: units on their way to the system will be free. False: there are none.
bool wait_for_purge() {
    if (units.nr_going_back == 0) return false;
    units.lock.unlock();
    os_yield();
    units.lock.lock();
    return true;
}

void set_touched(std::uint32_t first, std::uint32_t count, std::size_t used_bytes) {
    for (std::uint32_t i = first; i < first + count; ++i) {
        std::size_t here = used_bytes < unit_bytes ? used_bytes : unit_bytes;
        used_bytes -= here;
        auto pages = static_cast<std::uint8_t>((here + 4095) / 4096);
        if (pages > slab_at(i)->touched_pages) slab_at(i)->touched_pages = pages;
    }
}

// They have been in use. Dirty again, unless nothing was ever written there.
void give(std::uint32_t first, std::uint32_t count) {
    std::uint32_t nr_dirty = 0;
    for (std::uint32_t i = first; i < first + count; ++i) {
        slab *s = slab_at(i);
        write_shared(s->owner, nobody);
        set_kind(s, unit_kind::free);
        if (s->touched_pages == 0) {
            units.dirty.clear(i, 1);
        } else {
            units.dirty.set(i, 1);
            ++nr_dirty;
        }
    }
    mark_free(first, count);
    set_nr_dirty(units.nr_dirty_free + nr_dirty);
}

// How many units are to go back before the caller takes or frees some.
std::uint32_t look(std::uint64_t now) {
    write_shared(last_use_ms, now);
    return units.idle.look(purging_now(), units.nr_dirty_free, now);
}

// After some were freed.
std::uint32_t due_now(std::uint32_t due, std::uint64_t now) {
    std::uint32_t retained = purging.retain_units;
    if (now >= units.refused_until_ms)
        if (std::uint32_t above = units.idle.above_bound(purging_now(), units.nr_dirty_free); above > due) due = above;
    if (read_shared(purging.delay_ms) == 0 && units.nr_dirty_free > retained) return units.nr_dirty_free - retained;
    return due;
}

// --- giving back --------------------------------------------------------------------------------------------------------

// The next run of dirty free units below `end` that has `least` of them, at most `most` from its end; count 0: none.
struct dirty_run {
    std::uint32_t first, count;
};
dirty_run find_dirty_below(std::uint32_t end, std::uint32_t least, std::uint32_t most) {
    while (end > units.lowest_free) {
        std::uint32_t behind = unit_bits::behind_last_of_both(units.free, units.dirty, units.lowest_free, end);
        if (behind == 0) break;
        std::uint32_t first = unit_bits::start_of_both(units.free, units.dirty, units.lowest_free, behind);
        std::uint32_t count = behind - first < most ? behind - first : most;
        if (behind - first >= least) return {behind - count, count};
        end = first;
    }
    return {0, 0};
}

bool goes_back(std::uint32_t first, std::uint32_t count) {
    std::uintptr_t start = arena.base + (std::uintptr_t{first} << unit_shift);
    if (!os_give_back(start, std::size_t{count} << unit_shift)) return false;
    for (std::uint32_t i = first; i < first + count; ++i) slab_at(i)->touched_pages = 0;
    return true;
}

// Returns how many went. Of a run that is refused as a whole only some may be locked in memory.
std::uint32_t give_back(dirty_run run) {
    if (goes_back(run.first, run.count)) return run.count;
    std::uint32_t gone = 0, refusals = 0;
    for (std::uint32_t i = run.first; i < run.first + run.count && run.count > 1; ++i) {
        if (goes_back(i, 1))
            ++gone;
        else if (++refusals == refusals_max && gone == 0)
            break;
    }
    return gone;
}

// The lock is not held while the system works: who needs memory meanwhile takes other memory.
std::uint32_t purge_run(dirty_run run) {
    units.nr_going_back += run.count;
    take(run.first, run.count);
    units.lock.unlock();
    std::uint32_t gone = give_back(run);
    units.lock.lock();
    give(run.first, run.count);
    units.nr_going_back -= run.count;
    return gone;
}

// The lock is held, and given up meanwhile. Long runs first, from the top: low units are taken first. What cannot be given
// back is kept, and stays dirty. Returns how many went.
std::uint32_t purge_locked(std::uint32_t due) {
    constexpr std::uint32_t lengths[] = {64, 8, 1};
    std::uint32_t gone = 0, refusals = 0;
    for (std::uint32_t least : lengths)
        for (std::uint32_t end = arena_frontier(); gone < due;) {
            dirty_run run = find_dirty_below(end, least, due - gone);
            if (run.count == 0) break;
            std::uint32_t of_run = purge_run(run);
            gone += of_run;
            end = run.first;
            if (of_run != 0 || gone != 0) continue;
            units.refused_until_ms = read_shared(last_use_ms) + refusal_pause_ms;
            if (++refusals == refusals_max) return 0;
        }
    return gone;
}

// Of what is due by the clock or above the bound. Some may have been taken since.
void purge_due(std::uint32_t due) {
    lock_guard guard(units.lock);
    std::uint32_t retained = purging.retain_units;
    std::uint32_t most = units.nr_dirty_free > retained ? units.nr_dirty_free - retained : 0;
    (void)purge_locked(due < most ? due : most);
}

// `count` units from where find says, or, where it finds none, once the arena has grown by `to_grow`.
template<typename Find>
unit_run alloc_run(std::uint32_t count, std::uint32_t to_grow, Find find) {
    std::uint64_t now = read_shared(units.nr_dirty_free) != 0 ? units_now_ms() : 0;
    std::uint32_t due = 0;
    unit_run run{0, false};
    {
        lock_guard guard(units.lock);
        if (now != 0) due = look(now);
        std::uint32_t first = find();
        for (bool has_grown = false; first == 0 && !has_grown; first = find())
            if (has_grown = grow(to_grow); !has_grown && !wait_for_purge()) break;
        if (first != 0) run = take(first, count);
    }
    if (due != 0) [[unlikely]]
        purge_due(due);
    return run;
}

template<typename Give>
void free_run(Give give_all) {
    std::uint64_t now = units_now_ms();
    std::uint32_t due;
    {
        lock_guard guard(units.lock);
        due = look(now);
        give_all();
        due = due_now(due, now);
    }
    if (due != 0) [[unlikely]]
        purge_due(due);
}

} // namespace

bool units_start() {
    if (!arena_start()) return false;
    lock_guard guard(units.lock);
    mark_free(1, arena_frontier() - 1);
    return true;
}

unit_run units_alloc(std::uint32_t count) {
    return alloc_run(count, count, [count]() -> std::uint32_t {
        return units.nr_free < count ? 0 : count == 1 ? find_one() : find_run(count, 1);
    });
}

unit_run units_alloc_aligned(std::uint32_t count, std::size_t alignment) {
    std::size_t step = alignment >> unit_shift;
    if (step > arena.max_units) return {0, false};
    auto units_apart = static_cast<std::uint32_t>(step);
    return alloc_run(count, count + units_apart, [=] { return find_run(count, units_apart); });
}

unit_run units_alloc_with_room(std::uint32_t count) {
    unit_run run = alloc_run(count, count + gap_units, [count] { return find_roomy(count); });
    return run.first != 0 ? run : units_alloc(count); // where address space is scarce
}

slab_unit units_alloc_for_slab(unsigned size_class) {
    bool is_cut = false;
    unit_run run = alloc_run(1, 1, [size_class, &is_cut] {
        std::uint32_t cut = units.cut[size_class];
        is_cut = cut != 0;
        return is_cut ? cut : find_one();
    });
    return {run.first, is_cut};
}

bool units_extend(std::uint32_t first, std::uint32_t count, std::uint32_t more) {
    lock_guard guard(units.lock);
    std::uint32_t end = arena_frontier(), behind = first + count, there = run_length(behind, more);
    if (there < more) {
        if (behind + there != end || !grow(more - there)) return false;
    }
    take(behind, more);
    return true;
}

void units_free(std::uint32_t first, std::uint32_t count, std::size_t used_bytes) {
    set_touched(first, count, used_bytes);
    free_run([=] { give(first, count); });
}

void units_free_cut(std::uint32_t unit, std::size_t used_bytes) {
    set_touched(unit, 1, used_bytes);
    free_run([unit] {
        slab *s = slab_at(unit);
        give(unit, 1);
        s->place = slab_place::cut;
        partial_link(units.cut[s->size_class], s);
    });
}

void units_note_used(std::uint32_t first, std::size_t used_bytes) {
    set_touched(first, static_cast<std::uint32_t>((used_bytes + unit_bytes - 1) >> unit_shift), used_bytes);
}

units_held::units_held() { units.lock.lock(); }
units_held::~units_held() { units.lock.unlock(); }

std::uint32_t units_purge(std::uint32_t keep) {
    lock_guard guard(units.lock);
    return units.nr_dirty_free <= keep ? 0 : purge_locked(units.nr_dirty_free - keep);
}

void units_set_purge(const purge_settings &settings) {
    lock_guard guard(units.lock);
    write_shared(purging.delay_ms, settings.delay_ms);
    purging.retain_units = settings.retain_units;
    units.idle.restart();
}

purge_settings units_purge_settings() {
    lock_guard guard(units.lock);
    return purging_now();
}

void units_purge_when_asked_only() { write_shared(purging.delay_ms, never_purge); }

std::uint64_t units_now_ms() {
    // libc's, since it costs no system call. Not under the lock: whoever interposes it may allocate, and gets a reserve.
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1000 + static_cast<std::uint64_t>(now.tv_nsec) / 1000000;
}

std::uint64_t units_last_use_ms() { return read_shared(last_use_ms); }

unit_statistics units_statistics() {
    lock_guard guard(units.lock);
    return {arena_frontier() == 0 ? 0 : arena_frontier() - 1, units.nr_free, units.nr_dirty_free};
}

void units_child_start() {
    units.lock.make_anew();
    arena_child_start();
    units.free.clear_all(arena_frontier());
    units.dirty.clear_all(arena_frontier());
    for (std::uint32_t &list : units.cut) list = 0;
    units.nr_free = units.nr_dirty_free = units.nr_going_back = 0;
    units.lowest_free = arena_frontier();
}

} // namespace allot
