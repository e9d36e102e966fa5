#include "accounting/page_counter.hpp"

namespace allot {

std::uint64_t page_counter_try_charge(page_counter &c, std::uint64_t bytes, std::uint64_t beyond) {
    std::int64_t seen = c.word.load(std::memory_order_relaxed);
    for (;;) {
        std::uint64_t now = usage_of(seen) + bytes;
        std::uint64_t max = c.max.load(std::memory_order_relaxed);
        std::uint64_t limit = max < unlimited - beyond ? max + beyond : unlimited;
        if (now > limit || now > static_cast<std::uint64_t>(usage_max) || now < bytes) return charge_refused;
        std::int64_t next = seen + (static_cast<std::int64_t>(bytes) << usage_shift);
        if (c.word.compare_exchange_weak(seen, next, std::memory_order_seq_cst, std::memory_order_relaxed)) return now;
    }
}

std::uint64_t page_counter_charge(page_counter &c, std::uint64_t bytes) {
    return page_counter_try_charge(c, bytes, unlimited);
}

std::uint64_t page_counter_uncharge(page_counter &c, std::uint64_t bytes) {
    std::int64_t seen = c.word.load(std::memory_order_relaxed);
    for (;;) {
        std::uint64_t have = usage_of(seen);
        std::uint64_t take = bytes < have ? bytes : have;
        std::int64_t next = seen - (static_cast<std::int64_t>(take) << usage_shift);
        if (c.word.compare_exchange_weak(seen, next, std::memory_order_seq_cst, std::memory_order_relaxed))
            return bytes - take;
    }
}

void page_counter_raise_peak(page_counter &c, std::uint64_t usage) {
    std::uint64_t seen = c.peak.load(std::memory_order_relaxed);
    while (seen < usage && !c.peak.compare_exchange_weak(seen, usage, std::memory_order_relaxed)) {}
}

namespace {

// The exchange hands the old value to exactly one caller, so the parent's sum is always the sum of what was told. Whoever
// stored a value computed from an older usage or setting looks again after storing, and repairs it: store told, load usage
// here against change usage, load told in the other thread; seq_cst, one of the two must notice. So must a charger that finds
// nothing set (has_protection) and who sets something meanwhile.
void tell(std::atomic<std::uint64_t> &told, std::atomic<std::uint64_t> *sum, const std::atomic<std::uint64_t> &setting,
          const std::atomic<std::int64_t> &word) {
    for (;;) {
        std::uint64_t used = usage_of(word.load(std::memory_order_seq_cst));
        std::uint64_t set = setting.load(std::memory_order_seq_cst);
        std::uint64_t part = used < set ? used : set;
        if (told.load(std::memory_order_seq_cst) == part) return;
        std::uint64_t before = told.exchange(part, std::memory_order_seq_cst);
        if (sum != nullptr && before != part) sum->fetch_add(part - before, std::memory_order_relaxed);
    }
}

} // namespace

void page_counter_propagate(page_counter &c, page_counter *parent) {
    tell(c.min_usage, parent == nullptr ? nullptr : &parent->children_min_usage, c.min, c.word);
    tell(c.low_usage, parent == nullptr ? nullptr : &parent->children_low_usage, c.low, c.word);
}

} // namespace allot
