#include "accounting/oom.hpp"

#include "accounting/base/report.hpp"
#include "accounting/charge.hpp"

#include <cstdlib>

namespace allot {

namespace {

constexpr std::uint32_t nr_shown = 3;

void add_path(line_writer &out, const tenant &t) {
    char path[512];
    write_path(t, path, sizeof path);
    out.text(path);
}

void add_limit(line_writer &out, std::uint64_t bytes) {
    if (bytes >= unlimited)
        out.text("max");
    else
        out.number(bytes);
}

// The tenants below the level that use most by themselves, without locks: a figure may be a moment old.
void report_consumers(const tenant &level) {
    const tenant *most[nr_shown] = {};
    for (std::uint32_t index = 1; index < record_count<tenant>(); ++index) {
        const tenant *t = record_of<tenant>(index);
        if (t == nullptr || t->state.load(std::memory_order_acquire) != tenant_state::living) continue;
        if (t == &level || !is_at_or_below(*t, level)) continue;
        for (const tenant *&place : most) {
            if (place != nullptr && usage(place->counter) >= usage(t->counter)) continue;
            const tenant *smaller = place;
            place = t;
            t = smaller;
            if (t == nullptr) break;
        }
    }
    for (const tenant *t : most) {
        if (t == nullptr) break;
        line_writer out;
        out.text("allot:   below it: ");
        add_path(out, *t);
        out.text(" uses ").number(usage(t->counter));
        out.write();
    }
}

[[noreturn]] void report_and_abort(const tenant &asked, const tenant &level, std::uint64_t bytes) {
    line_writer out;
    out.text("allot: ").number(bytes).text(" bytes for ");
    add_path(out, asked);
    out.text(" would take ");
    add_path(out, level);
    out.text(" over its limit of ");
    add_limit(out, level.counter.max.load(std::memory_order_relaxed));
    out.text("; it uses ").number(usage(level.counter)).text(" and memory.oom.policy is abort");
    out.write();
    for (const tenant *t = &asked; t != nullptr; t = parent_of(*t)) {
        line_writer line;
        line.text("allot:   ");
        add_path(line, *t);
        line.text(" uses ").number(usage(t->counter)).text(" of ");
        add_limit(line, t->counter.max.load(std::memory_order_relaxed));
        line.write();
    }
    report_consumers(level);
    std::abort();
}

} // namespace

refusal_policy policy_of(const tenant &level) {
    for (const tenant *t = &level; t != nullptr; t = parent_of(*t)) {
        refusal_policy policy = t->on_refusal.load(std::memory_order_relaxed);
        if (policy != refusal_policy::inherit) return policy;
    }
    return refusal_policy::fail;
}

// No lock is held here, so a tenant may be destroyed meanwhile: its record stays readable.
void refused(const tenant &asked, const tenant &level, std::uint64_t bytes) {
    if (policy_of(level) == refusal_policy::abort) report_and_abort(asked, level, bytes);
}

} // namespace allot
