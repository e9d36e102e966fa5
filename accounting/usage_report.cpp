#include "accounting/usage_report.hpp"

#include "accounting/sizes.hpp"
#include "accounting/tables.hpp"
#include "accounting/text.hpp"

namespace allot {

namespace {

enum class column_kind : std::uint32_t { amount, limit };
enum class shown : std::uint32_t { everywhere, in_json };

// The figures of a tenant, in their order; behind them text has the refusals, JSON all events and statistics.
struct column {
    const char *name;
    std::uint64_t tenant_row::*value;
    column_kind kind;
    shown where;
};
constexpr column columns[] = {
    {"current", &tenant_row::current, column_kind::amount, shown::everywhere},
    {"peak", &tenant_row::peak, column_kind::amount, shown::everywhere},
    {"min", &tenant_row::min, column_kind::limit, shown::in_json},
    {"low", &tenant_row::low, column_kind::limit, shown::in_json},
    {"high", &tenant_row::high, column_kind::limit, shown::in_json},
    {"max", &tenant_row::max, column_kind::limit, shown::everywhere},
};
constexpr char refusals_name[] = "refused";
constexpr allot_event refusals = allot_event_oom;
constexpr std::size_t column_width = 9;

// A limit as it was given where that is short; a percentage of RAM, say, is not.
const char *format_limit(std::uint64_t bytes, char (&out)[size_text_bytes]) {
    format_bytes_exact(bytes, out);
    return text_length(out) < column_width ? out : format_bytes_rounded(bytes, out);
}

struct indented_name {
    std::size_t indent;
    const char *name;
};

// "/" and below it names, two spaces further in for each level.
indented_name indented(const char *path) {
    if (path[0] == '/' && path[1] == '\0') return {2, path};
    indented_name result{2, path};
    for (const char *p = path; *p != '\0'; ++p)
        if (*p == '/') result = {result.indent + 2, p + 1};
    return result;
}

bool upsets_a_terminal(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

std::size_t digits_of(std::uint64_t value) {
    std::size_t n = 1;
    for (; value >= 10; value /= 10) ++n;
    return n;
}

// The length of the UTF-8 character at s, 0 if there is none; `bad` is then how many bytes were the start of one.
std::size_t character_at(const char *s, std::size_t &bad) {
    const auto at = [s](std::size_t i) { return static_cast<unsigned char>(s[i]); };
    const unsigned char lead = at(0);
    bad = 1;
    if (lead < 0x80) return 1;
    if (lead < 0xc2 || lead > 0xf4) return 0;
    const std::size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    // Of the second byte: no overlong forms, no surrogates, nothing beyond the last code point.
    const unsigned char least = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    const unsigned char most = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    for (std::size_t i = 1; i < length; ++i) {
        if (i == 1 ? at(i) < least || at(i) > most : (at(i) & 0xc0) != 0x80) return 0;
        bad = i + 1;
    }
    return length;
}

} // namespace

// --- text -------------------------------------------------------------------------------------------------------------

void text_report::measure(const process_row &process) {
    const std::size_t width = 2 + text_width(process.program) + 2 + digits_of(process.pid) + 2 +
                              text_width(process.state) + 1; // "  sh (4, ended)"
    if (width > width_) width_ = width;
}

void text_report::measure(const char *path) {
    const indented_name name = indented(path);
    const std::size_t width = name.indent + text_width(name.name);
    if (width > width_) width_ = width;
}

void text_report::command(const char *word) {
    out_.text(place_ == place::start ? "allot: " : " ").text(word);
    place_ = place::command;
}

void text_report::ending(const run_ending &end) {
    if (end.signal == 0) {
        out_.text(" exited with status ").number(static_cast<std::uint64_t>(end.status));
    } else {
        out_.text(" was ended by signal ").number(static_cast<std::uint64_t>(end.signal));
        if (end.signal_name != nullptr) out_.text(" (SIG").text(end.signal_name).text(")");
    }
    out_.byte('\n');
}

void text_report::nothing_counted() {
    out_.text("allot: no process was counted; allot doctor COMMAND says why a program cannot be\n");
}

void text_report::headings() {
    out_.left("tenant", width_);
    for (const column &c : columns)
        if (c.where == shown::everywhere) out_.byte(' ').right(c.name, column_width);
    out_.byte(' ').right(refusals_name, column_width).byte('\n');
}

void text_report::shown(const char *name) {
    for (const char *c = name; *c != '\0'; ++c) out_.byte(upsets_a_terminal(*c) ? '?' : *c);
}

void text_report::tenant(const tenant_row &t) {
    const indented_name name = indented(t.path);
    out_.left("", name.indent);
    shown(name.name);
    for (std::size_t n = name.indent + text_width(name.name); n < width_; ++n) out_.byte(' ');
    char text[size_text_bytes];
    for (const column &c : columns) {
        if (c.where != shown::everywhere) continue;
        const std::uint64_t value = t.*c.value;
        out_.byte(' ').right(
            c.kind == column_kind::limit ? format_limit(value, text) : format_bytes_rounded(value, text), column_width);
    }
    out_.byte(' ');
    for (std::size_t n = digits_of(t.events[refusals]); n < column_width; ++n) out_.byte(' ');
    out_.number(t.events[refusals]).byte('\n');
}

void text_report::processes() {
    out_.left("process", width_);
    for (const column &c : columns)
        if (c.value == &tenant_row::current || c.value == &tenant_row::peak)
            out_.byte(' ').right(c.value == &tenant_row::peak ? c.name : "", column_width);
    out_.byte('\n');
}

void text_report::process(const process_row &p) {
    out_.text("  ");
    shown(p.program);
    out_.text(" (").number(p.pid).text(", ").text(p.state).byte(')');
    const std::size_t used = 2 + text_width(p.program) + 2 + digits_of(p.pid) + 2 + text_width(p.state) + 1;
    char text[size_text_bytes];
    for (std::size_t n = used; n < width_ + 1 + column_width; ++n) out_.byte(' '); // nothing below `current`
    out_.byte(' ').right(format_bytes_rounded(p.peak, text), column_width).byte('\n');
    if (p.uncounted_peak == 0) return;
    out_.text("    mapped and not counted: ").text(format_bytes_rounded(p.uncounted, text));
    out_.text(", at most ").text(format_bytes_rounded(p.uncounted_peak, text)).byte('\n');
}

void text_report::and_more(std::uint64_t processes) {
    if (processes != 0) out_.text("  and ").number(processes).text(" more\n");
}

// --- JSON -------------------------------------------------------------------------------------------------------------

void json_report::separate() {
    if (place_ == place::in_list) out_.byte(',');
    place_ = place::in_list;
}

void json_report::key(const char *name) {
    separate();
    string(name);
    out_.byte(':');
}

void json_report::string(const char *s) {
    out_.byte('"');
    for (std::size_t bad = 0; *s != '\0';) {
        const std::size_t length = character_at(s, bad);
        const auto c = static_cast<unsigned char>(*s);
        if (length == 0)
            out_.text("\xef\xbf\xbd"); // U+FFFD, the replacement character
        else if (c == '"' || c == '\\')
            out_.byte('\\').byte(*s);
        else if (c >= '\b' && c <= '\r' && c != '\v')
            out_.byte('\\').byte("btn?fr"[c - '\b']);
        else if (c < 0x20)
            out_.text("\\u00").byte("01"[c / 16]).byte("0123456789abcdef"[c % 16]);
        else
            for (std::size_t i = 0; i < length; ++i) out_.byte(s[i]);
        s += length == 0 ? bad : length;
    }
    out_.byte('"');
}

void json_report::limit(std::uint64_t bytes) {
    if (bytes >= unlimited)
        out_.text("null");
    else
        out_.number(bytes);
}

void json_report::command(const char *word) {
    if (place_ == place::start) out_.text("{\"command\":[");
    separate();
    string(word);
}

void json_report::ending(const run_ending &end) {
    if (place_ == place::start) out_.text("{\"command\":[");
    out_.text("],\"status\":").number(static_cast<std::uint64_t>(end.status)).text(",\"tenants\":[");
    place_ = place::list_begins;
}

void json_report::processes() {
    out_.text("],\"processes\":[");
    place_ = place::list_begins;
}

void json_report::process(const process_row &p) {
    separate();
    out_.byte('{');
    place_ = place::list_begins;
    key("pid");
    out_.number(p.pid);
    key("program");
    string(p.program);
    key("state");
    string(p.state);
    key("peak");
    out_.number(p.peak);
    if (p.uncounted_peak != 0) {
        key("uncounted");
        out_.text("{\"current\":").number(p.uncounted).text(",\"peak\":").number(p.uncounted_peak).byte('}');
    }
    out_.byte('}');
    place_ = place::in_list;
}

void json_report::tenant(const tenant_row &t) {
    separate();
    out_.byte('{');
    place_ = place::list_begins;
    key("path");
    string(t.path);
    for (const column &c : columns) {
        key(c.name);
        if (c.kind == column_kind::limit)
            limit(t.*c.value);
        else
            out_.number(t.*c.value);
    }
    key("events");
    out_.byte('{');
    place_ = place::list_begins;
    for (std::uint32_t e = 0; e < allot_nr_events; ++e) {
        key(event_table[e].name);
        out_.number(t.events[e]);
    }
    out_.byte('}');
    key("stat");
    out_.byte('{');
    place_ = place::list_begins;
    for (std::uint32_t s = 0; s < allot_nr_stats; ++s) {
        key(stat_table[s].name);
        out_.number(t.stats[s]);
    }
    out_.text("}}");
    place_ = place::in_list;
}

void json_report::end() {
    out_.text("]}\n");
    out_.flush();
}

} // namespace allot
