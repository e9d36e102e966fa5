#include "accounting/own_report.hpp"

#include "accounting/accounting.hpp"
#include "accounting/base/os.hpp"
#include "accounting/base/proc.hpp"
#include "accounting/statistics.hpp"
#include "accounting/tenant.hpp"
#include "accounting/uncounted.hpp"
#include "accounting/usage_report.hpp"

namespace allot {

namespace {

constexpr std::size_t path_bytes = std::size_t{tenant_depth_max} * tenant_name_bytes + 1;

bool is_living(const tenant *t) {
    return t != nullptr && t->state.load(std::memory_order_relaxed) == tenant_state::living;
}

// The tenants from the root down, without it; how many.
std::uint32_t chain_of(const tenant &t, const tenant *(&chain)[tenant_depth_max + 1]) {
    std::uint32_t depth = 0, left;
    for (const tenant *at = &t; at != nullptr && at->index != root_index && depth < tenant_depth_max;
         at = parent_of(*at))
        ++depth;
    left = depth;
    for (const tenant *at = &t; left != 0; at = parent_of(*at)) chain[--left] = at;
    return depth;
}

// A parent before its children, these by name and before its next sibling; registry lock.
bool comes_before(const tenant &a, const tenant &b) {
    const tenant *of_a[tenant_depth_max + 1], *of_b[tenant_depth_max + 1];
    const std::uint32_t depth_a = chain_of(a, of_a), depth_b = chain_of(b, of_b);
    for (std::uint32_t level = 0; level < depth_a && level < depth_b; ++level) {
        if (of_a[level] == of_b[level]) continue;
        const char *x = of_a[level]->name, *y = of_b[level]->name;
        while (*x != '\0' && *x == *y) ++x, ++y;
        return static_cast<unsigned char>(*x) < static_cast<unsigned char>(*y);
    }
    return depth_a < depth_b;
}

// A heap with the last at its top, from `at` down.
void sift(std::uint32_t *order, std::uint32_t at, std::uint32_t count) {
    const auto before = [](std::uint32_t a, std::uint32_t b) {
        return comes_before(record_at<tenant>(a), record_at<tenant>(b));
    };
    for (std::uint32_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && before(order[child], order[child + 1])) ++child;
        if (!before(order[at], order[child])) return;
        const std::uint32_t moved = order[at];
        order[at] = order[child];
        order[child] = moved;
    }
}

void sort(std::uint32_t *order, std::uint32_t count) {
    for (std::uint32_t at = count / 2; at-- > 0;) sift(order, at, count);
    for (std::uint32_t left = count; left-- > 1;) {
        const std::uint32_t last = order[0];
        order[0] = order[left];
        order[left] = last;
        sift(order, 0, left);
    }
}

// The living tenants, in order where there is memory for one.
class tenant_list {
public:
    tenant_list() {
        signals_blocked quiet;
        lock_scope registry(region().registry_lock.word, lock_rank::registry);
        const std::uint32_t end = record_count<tenant>();
        bytes_ = std::size_t{end} * sizeof(std::uint32_t);
        order_ = reinterpret_cast<std::uint32_t *>(os_map(bytes_)); // NOLINT(performance-no-int-to-ptr)
        count_ = end - 1;
        if (order_ == nullptr) return;
        count_ = 0;
        for (std::uint32_t index = 1; index < end; ++index)
            if (is_living(record_of<tenant>(index))) order_[count_++] = index;
        sort(order_, count_);
    }
    ~tenant_list() {
        if (order_ != nullptr) os_unmap(reinterpret_cast<std::uintptr_t>(order_), bytes_);
    }
    tenant_list(const tenant_list &) = delete;
    tenant_list &operator=(const tenant_list &) = delete;

    std::uint32_t count() const { return count_; }
    // False: it is gone by now.
    bool row(std::uint32_t at, tenant_row &out) {
        const tenant *t = record_of<tenant>(order_ != nullptr ? order_[at] : at + 1);
        statistics all{};
        {
            signals_blocked quiet;
            lock_scope registry(region().registry_lock.word, lock_rank::registry);
            if (!is_living(t)) return false;
            all = read(*t, out);
        }
        add_requested(all, *t);
        for (std::uint32_t s = 0; s < allot_nr_stats; ++s) out.stats[s] = static_cast<std::uint64_t>(all.value[s]);
        return true;
    }

private:
    statistics read(const tenant &t, tenant_row &out) {
        write_path(t, path_, sizeof path_);
        out.path = path_;
        out.current = current_exact(t);
        const level_figures c = figures_of(t);
        out.peak = c.peak.load(std::memory_order_relaxed);
        out.min = c.min.load(std::memory_order_relaxed);
        out.low = c.low.load(std::memory_order_relaxed);
        out.high = c.high.load(std::memory_order_relaxed);
        out.max = c.max.load(std::memory_order_relaxed);
        for (std::uint32_t e = 0; e < allot_nr_events; ++e) out.events[e] = c.events[e].load(std::memory_order_relaxed);
        return statistics_of_subtree(t);
    }

    std::uint32_t *order_;
    std::size_t bytes_;
    std::uint32_t count_;
    char path_[path_bytes]; // of the last row
};

constexpr std::size_t executable_bytes = 256; // of an executable, cut to fit

process_row own_process(char (&path)[executable_bytes]) {
    return {os_pid(),
            proc_executable(path, sizeof path),
            "exited",
            root_tenant().counter.peak.load(std::memory_order_relaxed),
            uncounted().now.load(std::memory_order_relaxed),
            uncounted().peak.load(std::memory_order_relaxed)};
}

template<class Report>
void put_tenants(Report &report, tenant_list &tenants) {
    tenant_row row;
    for (std::uint32_t i = 0; i < tenants.count(); ++i)
        if (tenants.row(i, row)) report.tenant(row);
}

template<class Report>
void put_command(Report &report, const own_report &what) {
    const char *end = what.command + what.command_bytes;
    for (const char *word = what.command; word < end; ++word) {
        report.command(word);
        while (*word != '\0') ++word;
    }
    report.ending({what.status, 0, nullptr});
}

void write_text(text_sink &out, const own_report &what, bool counted) {
    text_report report(out);
    char path[executable_bytes];
    put_command(report, what);
    if (counted) {
        tenant_list tenants;
        tenant_row row;
        const process_row process = own_process(path);
        report.measure(process);
        for (std::uint32_t i = 0; i < tenants.count(); ++i)
            if (tenants.row(i, row)) report.measure(row.path);
        report.headings();
        put_tenants(report, tenants);
        report.processes();
        report.process(process);
    } else {
        report.nothing_counted();
    }
    report.end();
}

void write_json(text_sink &out, const own_report &what, bool counted) {
    json_report report(out);
    char path[executable_bytes];
    put_command(report, what);
    if (counted) {
        tenant_list tenants;
        put_tenants(report, tenants);
        report.processes();
        report.process(own_process(path));
    } else {
        report.processes();
    }
    report.end();
}

} // namespace

void write_own_report(text_sink &out, const own_report &what) {
    const bool counted = accounting_start();
    if (what.form == report_form::json)
        write_json(out, what, counted);
    else
        write_text(out, what, counted);
}

} // namespace allot
