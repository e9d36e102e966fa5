#include "accounting/oom_report.hpp"

#include "accounting/base/os.hpp"
#include "accounting/base/report.hpp"
#include "accounting/charge.hpp"

namespace allot {

namespace {

constexpr std::uint32_t nr_shown = 5;

void add_path(line_writer &out, const tenant &t) {
    char path[512];
    write_path(t, path, sizeof path);
    out.name(path);
}

void add_limit(line_writer &out, std::uint64_t bytes) {
    if (bytes >= unlimited)
        out.text("max");
    else
        out.number(bytes);
}

struct consumer {
    const tenant *who = nullptr;
    std::uint64_t own = 0; // without its descendants
};

std::uint64_t own_usage(const tenant &t) {
    std::uint64_t used = usage(t), below = 0;
    for (const tenant *child = record_of<tenant>(t.first_child); child != nullptr;
         child = record_of<tenant>(child->next_sibling))
        below += usage(*child);
    return used > below ? used - below : 0;
}

// Keeps the largest in descending order.
void insert(consumer (&most)[nr_shown], consumer c) {
    for (consumer &place : most) {
        if (place.who != nullptr && place.own >= c.own) continue;
        consumer smaller = place;
        place = c;
        c = smaller;
        if (c.who == nullptr) return;
    }
}

void find_consumers(const tenant &level, consumer (&most)[nr_shown]) {
    signals_blocked quiet;
    lock_scope registry(region().registry_lock.word, lock_rank::registry);
    if (level.state.load(std::memory_order_relaxed) != tenant_state::living) return; // destroyed meanwhile
    for (const tenant *t = &level; t != nullptr; t = next_in_subtree(*t, level))
        if (std::uint64_t own = own_usage(*t); own != 0) insert(most, {t, own});
}

void report_level(const tenant &t) {
    line_writer line;
    line.text("allot:   ");
    add_path(line, t);
    line.text(" uses ").number(usage(t)).text(" of ");
    add_limit(line, figures_of(t).max.load(std::memory_order_relaxed));
    line.text(", at most ").number(figures_of(t).peak.load(std::memory_order_relaxed));
    line.text(" so far, refusals below it ")
        .number(figures_of(t).events[allot_event_oom].load(std::memory_order_relaxed));
    line.write();
}

} // namespace

void oom_report(const tenant &asked, const tenant &level, std::uint64_t bytes, const char *consequence) {
    consumer most[nr_shown] = {};
    find_consumers(level, most);
    line_writer out;
    out.text("allot: ").number(bytes).text(" bytes for ");
    add_path(out, asked);
    out.text(" would take ");
    add_path(out, level);
    out.text(" over its limit of ");
    add_limit(out, figures_of(level).max.load(std::memory_order_relaxed));
    out.text("; it uses ").number(usage(level)).text(" and ").text(consequence);
    out.write();
    for (const tenant *t = &asked; t != nullptr; t = parent_of(*t)) report_level(*t);
    for (const consumer &c : most) {
        if (c.who == nullptr) break;
        line_writer line;
        line.text("allot:   ").number(c.own).text(" of it is of ");
        add_path(line, *c.who);
        line.write();
    }
}

} // namespace allot
