#include "tools/trace_command.hpp"

#include "accounting/sizes.hpp"
#include "tools/command_line.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace allot {
namespace {

// Names come from a file: what a terminal would obey is not shown.
std::string printable(std::string text) {
    for (char &c : text)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
    return text;
}

std::string bytes_text(std::uint64_t bytes) {
    char text[size_text_bytes];
    return format_bytes_rounded(bytes, text);
}

std::string tenant_name(const std::string &path) { return path.empty() ? "(unknown)" : printable(path); }

constexpr const char *event_names[] = {"alloc", "free", "resize", "transfer", "refused", "image_ends"};

const char *reason_of(std::uint32_t stop_reason) {
    switch (stop_reason) {
    case ALLOT_TRACE_STOPPED_NO_SPACE: return "no space";
    case ALLOT_TRACE_STOPPED_NO_FILE: return "the file could not be opened any more";
    case ALLOT_TRACE_STOPPED_NO_MEMORY: return "no memory";
    case ALLOT_TRACE_STOPPED_FORBIDDEN: return "system calls were forbidden";
    default: return "unknown";
    }
}

// What is not as it should be: a name, how many, and a sentence.
struct damage_row {
    const char *key;
    std::uint64_t count;
    const char *text;
};

std::vector<damage_row> damage_rows(const trace_damage &d) {
    return {{"stopped_images", d.stopped_images, "processes stopped recording before their end"},
            {"lost_records", d.lost_records, "records of signal handlers were lost"},
            {"torn_records", d.torn_records, "records are torn; the rest of their blocks is not read"},
            {"missing_blocks", d.missing_blocks, "blocks are missing"},
            {"cut_blocks", d.cut_blocks, "blocks go beyond the end of the file"},
            {"damaged_slots", d.damaged_slots, "slots are damaged"},
            {"empty_slots", d.empty_slots, "slots were never written"},
            {"unknown_records", d.unknown_records, "records are of kinds that are not known here"},
            {"unknown_blocks", d.unknown_blocks, "operations are on blocks that are not in the trace"},
            {"implied_frees", d.implied_frees, "frees are not in the trace"}};
}

nlohmann::ordered_json as_json(const trace_counts &c) {
    return {{"alloc", c.allocs},
            {"free", c.frees},
            {"resize", c.resizes},
            {"transfer", c.transfers},
            {"refused", c.refusals},
            {"requested_bytes", c.requested_bytes},
            {"allocated_bytes", c.allocated_bytes},
            {"live_peak", c.live_peak},
            {"live_end", c.live}};
}

double seconds(std::uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }

constexpr std::size_t images_shown = 20;
constexpr char row_format[] = "{:<40} {:>10} {:>10} {:>9} {:>8} {:>8} {:>10} {:>10}\n";

std::string heading(const char *what) {
    return fmt::format(row_format, what, "allocs", "frees", "resizes", "refused", "bytes", "live peak", "live end");
}

std::string row(const std::string &name, const trace_counts &c) {
    return fmt::format(row_format, name, c.allocs, c.frees, c.resizes, c.refusals, bytes_text(c.allocated_bytes),
                       bytes_text(c.live_peak), bytes_text(c.live));
}

// Indices in the order of what was allocated, the most first.
std::vector<std::size_t> by_bytes(const std::vector<trace_counts> &counts) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < counts.size(); ++i)
        if (counts[i].allocs + counts[i].frees + counts[i].resizes + counts[i].refusals != 0) order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](auto a, auto b) { return counts[a].allocated_bytes > counts[b].allocated_bytes; });
    return order;
}

std::string sizes_text(const trace_summary &s) {
    std::string out =
        fmt::format("{:<40} {:>10} {:>9} {:>9} {:>10}\n", "blocks of at most", "allocs", "share", "bytes", "asked for");
    for (std::size_t i = 0; i < s.sizes().size(); ++i) {
        const trace_size_counts &c = s.sizes()[i];
        if (c.allocs == 0) continue;
        const double share = 100 * static_cast<double>(c.allocs) / static_cast<double>(s.all().allocs);
        const std::string most = i == 64 ? "more" : bytes_text(std::uint64_t{1} << i);
        out += fmt::format("  {:<38} {:>10} {:>7.1f} % {:>9} {:>10}\n", most, c.allocs, share,
                           bytes_text(c.allocated_bytes), bytes_text(c.requested_bytes));
    }
    return out;
}

} // namespace

std::string trace_as_text(const std::string &name, const trace_reader &reader, const trace_summary &s) {
    std::string out =
        fmt::format("{}: {} program images, {} threads, {:.3f} s, {} records\n", name, reader.images().size(),
                    reader.threads().size(), seconds(s.end() - s.begin()), reader.nr_records());
    const trace_damage &damage = reader.damage();
    for (const damage_row &d : damage_rows(damage))
        if (d.count != 0)
            out += fmt::format(
                "  {} {}{}\n", d.count, d.text,
                d.key == std::string_view("stopped_images") ? std::string(": ") + reason_of(damage.stop_reason) : "");
    out += "\n" + heading("all");
    out += row(fmt::format("  (most lives after {:.3f} s)", seconds(s.all().live_peak_time - s.begin())), s.all());
    out += "\n" + heading("tenant");
    for (const std::size_t i : by_bytes(s.tenants()))
        out += row("  " + tenant_name(reader.tenants()[i]), s.tenants()[i]);
    out += "\n" + heading("program image");
    const std::vector<std::size_t> images = by_bytes(s.images());
    for (std::size_t n = 0; n < images.size() && n < images_shown; ++n) {
        const trace_image_facts &image = reader.images()[images[n]];
        out += row(fmt::format("  {} ({})", printable(image.program), image.pid), s.images()[images[n]]);
    }
    if (images.size() > images_shown)
        out += fmt::format("  and {} more; --json has them all\n", images.size() - images_shown);
    out += "\n" + sizes_text(s);
    return out;
}

std::string trace_as_json(const trace_reader &reader, const trace_summary &s) {
    nlohmann::ordered_json out{{"seconds", seconds(s.end() - s.begin())}, {"records", reader.nr_records()}};
    out["all"] = as_json(s.all());
    out["all"]["live_peak_seconds"] = seconds(s.all().live_peak_time - s.begin());
    out["tenants"] = nlohmann::ordered_json::array();
    for (const std::size_t i : by_bytes(s.tenants())) {
        nlohmann::ordered_json tenant{{"path", reader.tenants()[i]}};
        tenant.update(as_json(s.tenants()[i]));
        out["tenants"].push_back(tenant);
    }
    out["images"] = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < reader.images().size(); ++i) {
        const trace_image_facts &facts = reader.images()[i];
        nlohmann::ordered_json image{{"pid", facts.pid},
                                     {"parent", facts.parent},
                                     {"program", facts.program},
                                     {"seconds", seconds(facts.last - facts.first)}};
        image["threads"] = std::count_if(reader.threads().begin(), reader.threads().end(),
                                         [i](const trace_thread_facts &t) { return t.image == i; });
        image.update(as_json(s.images()[i]));
        out["images"].push_back(image);
    }
    out["sizes"] = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < s.sizes().size(); ++i) {
        const trace_size_counts &c = s.sizes()[i];
        if (c.allocs == 0) continue;
        out["sizes"].push_back(
            {{"at_most", i == 64 ? nlohmann::ordered_json() : nlohmann::ordered_json(std::uint64_t{1} << i)},
             {"alloc", c.allocs},
             {"allocated_bytes", c.allocated_bytes},
             {"requested_bytes", c.requested_bytes}});
    }
    for (const damage_row &d : damage_rows(reader.damage())) out["damage"][d.key] = d.count;
    return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string trace_line(const trace_event &e, const trace_reader &reader, std::uint64_t begin) {
    const std::uint32_t pid = reader.images()[e.image].pid;
    const char *name = event_names[static_cast<std::size_t>(e.kind)];
    if (e.kind == trace_event_kind::image_ends)
        return fmt::format("{:.6f} {} {}\n", seconds(e.time - begin), pid, name);
    return fmt::format("{:.6f} {}/{} {} {:#x} {} {} {}{}\n", seconds(e.time - begin), pid,
                       reader.threads()[e.thread].id, name, e.address, e.requested, e.usable,
                       tenant_name(reader.tenants()[e.tenant]), e.is_implied ? " (implied)" : "");
}

namespace {

void print_records(trace_reader &reader) {
    trace_event event;
    for (std::uint64_t begin = 0; reader.next(event);) {
        if (begin == 0) begin = event.time;
        fmt::print("{}", trace_line(event, reader, begin));
    }
}

} // namespace

int trace_command(std::vector<std::string> arguments) {
    CLI::App app(
        "Sums up what ALLOT_TRACE=FILE or allot run --trace FILE has recorded. Several files are read as one trace.",
        "allot trace");
    set_synopsis(app, trace_synopsis);
    bool json = false, records = false;
    std::vector<std::string> files;
    app.add_flag("--json", json, "One JSON object");
    app.add_flag("--records", records, "Each allocation and each free, a line each, in the order of time");
    app.add_option("FILE", files, "What was recorded")->type_name("");
    app.allow_extras();
    if (parse_arguments(app, arguments)) return exit_done;
    refuse_remaining(app);
    if (files.empty()) throw usage_error("FILE is missing; expected allot trace [--json | --records] FILE...");
    if (json && records) throw usage_error("--records: not together with --json");
    trace_reader reader(files);
    if (records) {
        print_records(reader);
        return exit_done;
    }
    const trace_summary summary(reader);
    fmt::print("{}", json ? trace_as_json(reader, summary)
                          : trace_as_text(fmt::format("{}", fmt::join(files, ", ")), reader, summary));
    return exit_done;
}

} // namespace allot
