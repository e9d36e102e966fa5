#include "tools/render_metrics.hpp"

#include "accounting/base/units.hpp"
#include "accounting/shared/figures.hpp"
#include "accounting/tables.hpp"
#include "tools/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

namespace allot {

namespace {

constexpr char other_name[] = "(other)";

enum class metric_kind { gauge, counter, info };

// A family of series: one for each tenant, or with a label for each of its words.
struct family {
    std::string name; // without _total and _info
    metric_kind kind;
    std::string unit; // "bytes", "seconds", or empty
    std::string help;
};

struct labelled {
    std::string label; // tenant="/a"
    const tenant_figures *figures;
    bool is_other;
};

class exposition {
public:
    explicit exposition(metrics_format format) : format_(format) {}

    // OpenMetrics names the family, Prometheus the series.
    void begin(const family &f) {
        series_ = f.name + (f.kind == metric_kind::counter ? "_total" : f.kind == metric_kind::info ? "_info" : "");
        const bool is_open = format_ == metrics_format::openmetrics;
        const std::string &named = is_open ? f.name : series_;
        const char *type = f.kind == metric_kind::counter           ? "counter"
                           : f.kind == metric_kind::info && is_open ? "info"
                                                                    : "gauge";
        out_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", named, f.help, named, type);
        if (is_open && !f.unit.empty()) out_ += fmt::format("# UNIT {} {}\n", named, f.unit);
    }
    void sample(const std::string &labels, const std::string &value) {
        out_ += series_ + (labels.empty() ? "" : "{" + labels + "}") + " " + value + "\n";
    }
    std::string end() {
        if (format_ == metrics_format::openmetrics) out_ += "# EOF\n";
        return out_;
    }

private:
    metrics_format format_;
    std::string series_, out_;
};

std::string number(std::uint64_t value) { return fmt::format("{}", value); }
std::string limit(std::uint64_t value) { return value >= unlimited ? "+Inf" : number(value); }

using value_of = std::function<std::string(const tenant_figures &)>;
enum class of_other { summed, absent }; // limits and peaks of many tenants say nothing together

void put(exposition &out, const std::vector<labelled> &tenants, const family &f, of_other other,
         const value_of &value) {
    out.begin(f);
    for (const labelled &t : tenants)
        if (!t.is_other || other == of_other::summed) out.sample(t.label, value(*t.figures));
}

void put_sizes(exposition &out, const std::vector<labelled> &tenants) {
    const auto gauge = [&](const char *name, const char *help, of_other other, const value_of &value) {
        put(out, tenants, {fmt::format("allot_memory_{}_bytes", name), metric_kind::gauge, "bytes", help}, other,
            value);
    };
    gauge("current", "Bytes in use by the tenant and all below it.", of_other::summed,
          [](const auto &t) { return number(t.current); });
    gauge("usage", "The same with what threads have charged ahead.", of_other::summed,
          [](const auto &t) { return number(t.usage); });
    gauge("peak", "Highest usage.", of_other::absent, [](const auto &t) { return number(t.peak); });
    gauge("min", "Never taken from caches for others.", of_other::absent, [](const auto &t) { return limit(t.min); });
    gauge("low", "Taken from caches only when nothing else helps.", of_other::absent,
          [](const auto &t) { return limit(t.low); });
    gauge("high", "Limit beyond which caches give way; +Inf is none.", of_other::absent,
          [](const auto &t) { return limit(t.high); });
    gauge("max", "Limit beyond which charges are refused; +Inf is none.", of_other::absent,
          [](const auto &t) { return limit(t.max); });
    gauge("headroom", "How far beyond the limit error paths may go.", of_other::absent,
          [](const auto &t) { return limit(t.headroom); });
}

void put_events(exposition &out, const std::vector<labelled> &tenants) {
    const struct {
        const char *name, *help;
        std::array<std::uint64_t, allot_nr_events> tenant_figures::*counts;
    } families[] = {
        {"allot_memory_events", "Events of the tenant and all below it.", &tenant_figures::events},
        {"allot_memory_events_local", "Events of the tenant alone.", &tenant_figures::events_local},
    };
    for (const auto &f : families) {
        out.begin({f.name, metric_kind::counter, "", f.help});
        for (const labelled &t : tenants)
            for (std::uint32_t e = 0; e < allot_nr_events; ++e)
                out.sample(fmt::format("{},event=\"{}\"", t.label, event_table[e].name),
                           number((t.figures->*f.counts)[e]));
    }
}

// The unit stands behind the name; microseconds become seconds.
family family_of(std::uint32_t s) {
    const stat_descriptor &d = stat_table[s];
    std::string name = d.name, unit;
    if (d.unit == stat_unit::bytes) unit = "bytes";
    if (d.unit == stat_unit::threads) unit = "threads";
    if (d.unit == stat_unit::objects) unit = "objects";
    if (d.unit == stat_unit::microseconds) {
        unit = "seconds";
        const std::string suffix = "_usec";
        if (name.ends_with(suffix)) name.erase(name.size() - suffix.size());
    }
    if (!unit.empty() && name != unit) name += "_" + unit;
    std::string help = stat_help[s];
    if (d.unit == stat_unit::microseconds) help = "Time that memory.throttle has delayed threads.";
    return {"allot_memory_stat_" + name, d.kind == stat_kind::counter ? metric_kind::counter : metric_kind::gauge, unit,
            help};
}

void put_statistics(exposition &out, const std::vector<labelled> &tenants) {
    for (std::uint32_t s = 0; s < allot_nr_stats; ++s) {
        if (!shared::is_known_outside(s)) continue;
        const bool is_time = stat_table[s].unit == stat_unit::microseconds;
        put(out, tenants, family_of(s), of_other::summed, [=](const tenant_figures &t) {
            return is_time ? fmt::format("{}.{:06}", t.stats[s] / 1000000, t.stats[s] % 1000000) : number(t.stats[s]);
        });
    }
}

void add(tenant_figures &to, const tenant_figures &from) {
    to.current += from.current;
    to.usage += from.usage;
    to.nr_processes += from.nr_processes;
    for (std::size_t i = 0; i < to.events.size(); ++i) to.events[i] += from.events[i];
    for (std::size_t i = 0; i < to.stats.size(); ++i) to.stats[i] += from.stats[i];
}

// Which have series of their own: those that use most, and of equal ones those higher in the tree.
std::vector<bool> kept_of(const std::vector<tenant_figures> &tenants, std::size_t max_tenants) {
    std::vector<std::size_t> order(tenants.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return tenants[a].usage != tenants[b].usage ? tenants[a].usage > tenants[b].usage
                                                    : tenants[a].depth < tenants[b].depth;
    });
    std::vector<bool> kept(tenants.size(), false);
    for (std::size_t i = 0; i < order.size() && i < max_tenants; ++i) kept[order[i]] = true;
    return kept;
}

tenant_figures sum_of_dropped(const std::vector<tenant_figures> &tenants, const std::vector<bool> &kept) {
    tenant_figures other;
    const std::string *topmost = nullptr; // of those left out, in whose subtree we are
    for (std::size_t i = 0; i < tenants.size(); ++i) {
        const tenant_figures &t = tenants[i];
        if (kept[i]) continue;
        // Its own events are nowhere else.
        for (std::size_t e = 0; e < other.events_local.size(); ++e) other.events_local[e] += t.events_local[e];
        if (topmost != nullptr && is_at_or_below(t.path, *topmost)) continue;
        topmost = &t.path;
        add(other, t);
    }
    return other;
}

} // namespace

std::string label_text(const std::string &path) {
    std::string text;
    for (std::size_t at = 0; at < path.size();) {
        std::size_t length = 1;
        // By what a terminal is shown: a character that is replaced there and is no control character is no UTF-8.
        while (at + length < path.size() && (static_cast<unsigned char>(path[at + length]) & 0xc0) == 0x80 &&
               length < 4)
            ++length;
        const std::string piece = path.substr(at, length);
        const auto byte = static_cast<unsigned char>(piece[0]);
        if (byte < 0x80) {
            length = 1;
            if (piece[0] == '\\' && at + 1 < path.size() && path[at + 1] == 'x')
                text += "\\\\x5c";
            else if (piece[0] == '\\' || piece[0] == '"')
                text += std::string("\\") + piece[0];
            else if (byte < 0x20 || byte == 0x7f)
                text += fmt::format("\\\\x{:02x}", byte);
            else
                text += piece[0];
        } else if (shown(piece) == piece) {
            text += piece;
        } else {
            length = 1;
            text += fmt::format("\\\\x{:02x}", byte);
        }
        at += length;
    }
    return text;
}

std::string render_metrics(const hierarchy_view &view, metrics_format format, std::size_t max_tenants) {
    const std::vector<bool> kept = kept_of(view.tenants, max_tenants);
    const auto dropped = static_cast<std::size_t>(std::count(kept.begin(), kept.end(), false));
    const tenant_figures other = sum_of_dropped(view.tenants, kept);
    std::vector<labelled> tenants;
    for (std::size_t i = 0; i < kept.size(); ++i)
        if (kept[i])
            tenants.push_back(
                {fmt::format("tenant=\"{}\"", label_text(view.tenants[i].path)), &view.tenants[i], false});
    if (dropped != 0) tenants.push_back({fmt::format("tenant=\"{}\"", other_name), &other, true});

    exposition out(format);
    out.begin({"allot_build", metric_kind::info, "", "Version of the command that read the hierarchy."});
    out.sample(fmt::format("version=\"{}\"", ALLOT_VERSION), "1");
    put_sizes(out, tenants);
    put_events(out, tenants);
    put_statistics(out, tenants);
    put(out, tenants, {"allot_processes", metric_kind::gauge, "", "Living processes of the tenant and all below it."},
        of_other::summed, [](const auto &t) { return number(t.nr_processes); });
    out.begin({"allot_tenants", metric_kind::gauge, "", "Tenants of the hierarchy."});
    out.sample("", number(view.tenants.size()));
    out.begin(
        {"allot_tenants_dropped", metric_kind::counter, "", "Tenants without series of their own, summed as (other)."});
    out.sample("", number(dropped));
    return out.end();
}

} // namespace allot
