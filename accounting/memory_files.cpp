#include "accounting/memory_files.hpp"

#include "accounting/base/os.hpp"
#include "accounting/drain.hpp"
#include "accounting/failures.hpp"
#include "accounting/shared/ledger.hpp"
#include "accounting/shared/remote.hpp"
#include "accounting/sizes.hpp"
#include "accounting/statistics.hpp"
#include "accounting/tables.hpp"
#include "accounting/tenant.hpp"

#include <cerrno>
#include <cstring>

namespace allot {

// --- words and numbers ------------------------------------------------------------------------------------------------

bool parse_tenant_size(const tenant &t, const char *value, std::uint64_t &bytes) {
    std::uint64_t base = unlimited;
    if (tenant *parent = parent_of(t)) base = figures_of(*parent).max.load(std::memory_order_relaxed);
    size_result result = size_parse(value, base >= unlimited ? os_ram_bytes() : base);
    bytes = result.bytes;
    return result.error == size_error::none;
}

const char *after_blanks(const char *value) {
    while (*value == ' ' || *value == '\t' || *value == '\n') ++value;
    return value;
}

bool is_word(const char *value, const char *word) {
    value = after_blanks(value);
    std::size_t length = std::strlen(word);
    return std::strncmp(value, word, length) == 0 && *after_blanks(value + length) == '\0';
}

bool parse_number(const char *value, std::uint64_t &number, const char *&end) {
    number = 0;
    end = value;
    for (; *end >= '0' && *end <= '9'; ++end) {
        auto digit = static_cast<std::uint64_t>(*end - '0');
        if (__builtin_mul_overflow(number, std::uint64_t{10}, &number) ||
            __builtin_add_overflow(number, digit, &number))
            return false;
    }
    return end != value;
}

// --- figures ----------------------------------------------------------------------------------------------------------

namespace {

void get_limit(const std::atomic<std::uint64_t> &limit, file_text &out) {
    out.limit_line(limit.load(std::memory_order_relaxed));
}

void put_events(const std::atomic<std::uint64_t> (&events)[events_capacity], file_text &out) {
    for (std::uint32_t e = 0; e < allot_nr_events; ++e)
        out.line(event_table[e].name, events[e].load(std::memory_order_relaxed));
}

} // namespace

void get_current(const tenant &t, file_text &out) { out.number(current_exact(t)).text("\n"); }
void get_peak(const tenant &t, file_text &out) {
    out.number(figures_of(t).peak.load(std::memory_order_relaxed)).text("\n");
}
void get_min(const tenant &t, file_text &out) { get_limit(figures_of(t).min, out); }
void get_low(const tenant &t, file_text &out) { get_limit(figures_of(t).low, out); }
void get_high(const tenant &t, file_text &out) { get_limit(figures_of(t).high, out); }
void get_max(const tenant &t, file_text &out) { get_limit(figures_of(t).max, out); }
void get_headroom(const tenant &t, file_text &out) { get_limit(figures_of(t).headroom, out); }
void get_events(const tenant &t, file_text &out) { put_events(figures_of(t).events, out); }
void get_events_local(const tenant &t, file_text &out) { put_events(figures_of(t).events_local, out); }

int ask_stat(allot_tenant *handle, file_text &out) {
    statistics all{};
    const tenant *t;
    {
        signals_blocked quiet;
        lock_scope registry(region().registry_lock.word, lock_rank::registry);
        t = tenant_from(handle);
        if (t == nullptr) return -ESTALE;
        all = statistics_of_subtree(*t);
    }
    add_requested(all, *t); // its record stays readable
    if (t->index == root_index) add_process_figures(all);
    for (std::uint32_t s = 0; s < allot_nr_stats; ++s)
        out.text(stat_table[s].name).text(" ").signed_number(all.value[s]).text("\n");
    return 0;
}

// On which node an object's memory lies is the system's affair, and changes without our knowledge: all is shown on node 0.
void get_numa_stat(const tenant &t, file_text &out) {
    statistics all = statistics_of_subtree(t);
    for (allot_stat s : {allot_stat_slab, allot_stat_large, allot_stat_external})
        out.text(stat_table[s].name).text(" N0=").signed_number(all.value[s]).text("\n");
}

int reset_peak(tenant &t, const char *) {
    figures_of(t).peak.store(usage(t), std::memory_order_relaxed);
    return 0;
}

// --- limits -----------------------------------------------------------------------------------------------------------

int set_max(tenant &t, const char *value) {
    std::uint64_t max;
    if (!parse_tenant_size(t, value, max)) return -EINVAL;
    if (figures_of(t).max.exchange(max, std::memory_order_relaxed) == max) return 0;
    // A charge that read the old limit may still be on its way. Below a lowered one it must have arrived before anyone relies
    // on the new one, and what it charged ahead must go; by a raised one it may have been refused, and what it leaves at the
    // levels below until it gives up must not be a reason to refuse others. It holds a lock, and all are taken here.
    if (is_shared(t))
        shared::ledger_flush(); // there a charge is one operation
    else
        pass_direct_locks();
    drain_subtree_of(t);
    return is_shared(t) ? shared::drain_others(t.counter.node) : 0;
}

int set_high(tenant &t, const char *value) {
    std::uint64_t high;
    if (!parse_tenant_size(t, value, high)) return -EINVAL;
    figures_of(t).high.store(high, std::memory_order_relaxed);
    // What threads hold ahead is not a use that could be over it: going over it is to be seen when it happens.
    if (usage(t) <= high) return 0;
    drain_subtree_of(t);
    return is_shared(t) ? shared::drain_others(t.counter.node) : 0;
}

namespace {

int set_protection(tenant &t, std::atomic<std::uint64_t> &which, const char *value) {
    std::uint64_t bytes;
    if (!parse_tenant_size(t, value, bytes)) return -EINVAL;
    which.store(bytes, std::memory_order_seq_cst); // seq_cst: see page_counter_propagate
    if (is_shared(t)) return 0;
    tenant *parent = parent_of(t);
    page_counter_propagate(t.counter, parent == nullptr ? nullptr : &parent->counter);
    return 0;
}

} // namespace

int set_min(tenant &t, const char *value) { return set_protection(t, figures_of(t).min, value); }
int set_low(tenant &t, const char *value) { return set_protection(t, figures_of(t).low, value); }

int set_headroom(tenant &t, const char *value) {
    std::uint64_t bytes;
    if (!parse_tenant_size(t, value, bytes)) return -EINVAL;
    figures_of(t).headroom.store(bytes, std::memory_order_relaxed);
    return 0;
}

// --- what a refusal leads to ------------------------------------------------------------------------------------------

namespace {
constexpr const char *policy_words[] = {"inherit", "fail", "kill", "abort"};
} // namespace

void get_oom_policy(const tenant &t, file_text &out) {
    out.text(policy_words[static_cast<std::uint32_t>(figures_of(t).on_refusal.load(std::memory_order_relaxed))])
        .text("\n");
}

int set_oom_policy(tenant &t, const char *value) {
    for (std::uint8_t p = 0; p < sizeof policy_words / sizeof *policy_words; ++p) {
        if (!is_word(value, policy_words[p])) continue;
        figures_of(t).on_refusal.store(refusal_policy{p}, std::memory_order_relaxed);
        return 0;
    }
    return -EINVAL;
}

void get_oom_group(const tenant &t, file_text &out) {
    out.number(figures_of(t).kills_group.load(std::memory_order_relaxed)).text("\n");
}

int set_oom_group(tenant &t, const char *value) {
    bool is_on = is_word(value, "1");
    if (!is_on && !is_word(value, "0")) return -EINVAL;
    figures_of(t).kills_group.store(is_on, std::memory_order_relaxed);
    return 0;
}

// --- failures on demand -----------------------------------------------------------------------------------------------

void get_failures(const tenant &t, file_text &out) {
    failure_window w = failures_of(t);
    if (w.above != unlimited)
        out.text("above ").number(w.above);
    else if (w.first == 0)
        out.text("none");
    else
        out.number(w.first);
    if (w.first != 0 && w.last == failure_window::for_ever)
        out.text("+");
    else if (w.first != w.last)
        out.text("-").number(w.last);
    out.text("\n");
}

namespace {

bool parse_failures(const tenant &t, const char *value, failure_window &w) {
    if (is_word(value, "none")) return true;
    value = after_blanks(value);
    constexpr char above[] = "above ";
    if (std::strncmp(value, above, sizeof above - 1) == 0)
        return parse_tenant_size(t, value + sizeof above - 1, w.above);
    const char *end;
    if (!parse_number(value, w.first, end) || w.first == 0) return false;
    w.last = w.first;
    if (*end == '+') {
        w.last = failure_window::for_ever;
        ++end;
    } else if (*end == '-' && (!parse_number(end + 1, w.last, end) || w.last < w.first)) {
        return false;
    }
    return is_word(end, "");
}

} // namespace

int set_failures(tenant &t, const char *value) {
    failure_window w;
    if (!parse_failures(t, value, w)) return -EINVAL;
    return failures_set(t, w);
}

} // namespace allot
