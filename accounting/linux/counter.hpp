// A page counter as Linux has it: usage is added, looked at, and taken back where it was too much.
//
// It exists beside accounting/page_counter.hpp, allot's own, to show what that differs in: an addition in flight can refuse
// others falsely, and a refused charge leaves the peaks of the levels below raised. In pages.
//
// Threads: any. Owner: the memcg that it is part of.
// Invariants: once nobody is inside a call, min_usage = min(usage, min), or less after two who updated it at the limit
//   (accepted by the kernel, put right by the next change); a parent's sums are those of what children told.
// Cost: one locked instruction a level; with protection `always`, two more at each protected one.
#pragma once

#include "accounting/base/cache_line.hpp"
#include "accounting/linux/engine_config.hpp"
#include "accounting/linux/tally.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace allot::memcg {

inline constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max() / page_bytes;

// Which of the tally's counts a counter's additions go to.
enum class counted_as : std::uint8_t { memory, kernel_memory };

// The fields, by layout, in the kernel's order; Counter is the type of a level. relaxed throughout: the kernel's full
// barriers order a charge against a limit that is lowered by set_max's loop, which nothing here uses; figures are read when
// all is quiet. parent and kind are written before anybody charges.
template<counter_layout, typename Counter>
struct counter_fields { // what every charge writes shares a line with what every charge reads
    alignas(cache_line_bytes) std::atomic<std::int64_t> usage{0};
    std::atomic<std::int64_t> min{0}, low{0}, high{no_limit}, max{no_limit};
    std::atomic<std::int64_t> min_usage{0}, children_min_usage{0};
    counted_as kind = counted_as::memory;
    alignas(cache_line_bytes) std::atomic<std::int64_t> low_usage{0};
    std::atomic<std::int64_t> children_low_usage{0}, watermark{0};
    Counter *parent = nullptr;
};

template<typename Counter>
struct counter_fields<counter_layout::split, Counter> {
    alignas(cache_line_bytes) std::atomic<std::int64_t> usage{0};
    alignas(cache_line_bytes) std::atomic<std::int64_t> min_usage{0};
    std::atomic<std::int64_t> children_min_usage{0}, low_usage{0}, children_low_usage{0}, watermark{0};
    alignas(cache_line_bytes) std::atomic<std::int64_t> min{0};
    std::atomic<std::int64_t> low{0}, high{no_limit}, max{no_limit};
    Counter *parent = nullptr;
    counted_as kind = counted_as::memory;
};

template<counter_layout Layout, protection_update Protection>
struct counter : counter_fields<Layout, counter<Layout, Protection>> {
    using fields = counter_fields<Layout, counter>;
    using fields::kind, fields::parent;

    // All levels, or none. nullptr: charged; else the level that had no room.
    [[gnu::noinline]] counter *try_charge(std::int64_t pages, tally &t) {
        ++t.walks;
        for (counter *c = this; c != nullptr; c = c->parent) {
            std::int64_t now = c->add(pages, t);
            if (now > c->max.load(std::memory_order_relaxed)) {
                (void)c->add(-pages, t);
                for (counter *below = this; below != c; below = below->parent) below->cancel(pages, t);
                return c;
            }
            c->charged(now, t);
        }
        return nullptr;
    }

    // Without a look at limits.
    [[gnu::noinline]] void charge(std::int64_t pages, tally &t) {
        ++t.walks;
        for (counter *c = this; c != nullptr; c = c->parent) c->charged(c->add(pages, t), t);
    }

    [[gnu::noinline]] void uncharge(std::int64_t pages, tally &t) {
        ++t.walks;
        for (counter *c = this; c != nullptr; c = c->parent) c->cancel(pages, t);
    }

private:
    std::int64_t add(std::int64_t pages, tally &t) {
        ++(kind == counted_as::memory ? t.usage : t.kernel_usage);
        return this->usage.fetch_add(pages, std::memory_order_relaxed) + pages;
    }
    void charged(std::int64_t now, tally &t) {
        if (kind == counted_as::memory) tell_parent(now, t);
        if (now > this->watermark.load(std::memory_order_relaxed))
            this->watermark.store(now, std::memory_order_relaxed); // two at once may lose the larger: a statistic
    }
    void cancel(std::int64_t pages, tally &t) {
        std::int64_t now = add(-pages, t);
        if (kind == counted_as::memory) tell_parent(now, t);
    }

    void tell_parent(std::int64_t now, tally &t) {
        if (parent == nullptr) return;
        tell(this->min, this->min_usage, parent->children_min_usage, now, t);
        tell(this->low, this->low_usage, parent->children_low_usage, now, t);
    }
    static void tell(const std::atomic<std::int64_t> &setting, std::atomic<std::int64_t> &told,
                     std::atomic<std::int64_t> &sum, std::int64_t now, tally &t) {
        std::int64_t set = setting.load(std::memory_order_relaxed), last = told.load(std::memory_order_relaxed);
        std::int64_t part = std::min(now, set);
        bool is_due = Protection == protection_update::always ? set != 0 || last != 0 : part != last;
        if (!is_due) return;
        ++t.protection;
        std::int64_t before = told.exchange(part, std::memory_order_relaxed);
        if (before == part) return;
        ++t.protection;
        sum.fetch_add(part - before, std::memory_order_relaxed);
    }
};

} // namespace allot::memcg
