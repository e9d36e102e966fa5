#include "accounting/base/os.hpp"
#include "accounting/base/report.hpp"
#include "accounting/environment.hpp"
#include "accounting/nearest.hpp"
#include "accounting/option_lists.hpp"
#include "accounting/options.hpp"
#include "accounting/sizes.hpp"
#include "accounting/tables.hpp"
#include "accounting/text.hpp"
#include "accounting/text_arena.hpp"

namespace allot {
namespace {

// A setting as somebody wrote it. `place` is "" for a variable of its own, "ALLOT_CONF: " for a key in there.
struct spelled {
    const char *place;
    const char *name;
    std::size_t name_length;
    const char *value;
    std::size_t value_length;
};

class parser {
public:
    parser(options &out, option_problems &problems) : out_(out), problems_(problems) {}

    void variable(const char *entry);
    void configuration(const char *text);
    void find_programs();

private:
    void apply(std::uint32_t id, const spelled &s);
    void apply_size(std::uint32_t id, const spelled &s);
    void apply_number(std::uint32_t id, const spelled &s);
    void apply_choice(std::uint32_t id, const spelled &s);
    void apply_onoff(std::uint32_t id, const spelled &s);
    void apply_text(std::uint32_t id, const spelled &s);
    void apply_list(std::uint32_t id, const spelled &s);
    void apply_fail_after(const spelled &s);
    void unknown(const spelled &s, const char *nearest);
    void refused(const spelled &s, const char *why, const char *expected);

    options &out_;
    option_problems &problems_;
    text_arena arena_;
};

void parser::unknown(const spelled &s, const char *nearest) {
    if (++problems_.count != 1) return;
    line_writer line;
    line.text(s.place).text(s.name, s.name_length).text(": no such setting; did you mean ").text(nearest).text("?");
    copy_text(line.c_str(), problems_.first, sizeof problems_.first);
}

void parser::refused(const spelled &s, const char *why, const char *expected) {
    if (++problems_.count != 1) return;
    constexpr std::size_t shown = 40; // of the value: the sentence must still fit behind a long one
    line_writer line;
    line.text(s.place)
        .text(s.name, s.name_length)
        .text("=")
        .text(s.value, s.value_length < shown ? s.value_length : shown);
    line.text(s.value_length > shown ? "..." : "").text(": ").text(why);
    if (expected[0] != '\0') line.text("; expected ").text(expected);
    copy_text(line.c_str(), problems_.first, sizeof problems_.first);
}

void parser::apply_size(std::uint32_t id, const spelled &s) {
    const size_result r = size_parse(s.value, s.value_length, os_ram_bytes());
    if (r.error != size_error::none) return refused(s, size_error_hint(r.error), size_expected);
    const char *text = arena_.copy(s.value, s.value_length);
    const size_option value{text == nullptr ? "" : text, r.bytes};
    switch (id) {
    case allot_option_memory_max: out_.memory_max = value; break;
    case allot_option_memory_high: out_.memory_high = value; break;
    case allot_option_memory_low: out_.memory_low = value; break;
    case allot_option_memory_min: out_.memory_min = value; break;
    case allot_option_memory_headroom: out_.memory_headroom = value; break;
    case allot_option_retain: out_.retain = value; break;
    }
}

void parser::apply_number(std::uint32_t id, const spelled &s) {
    constexpr std::size_t digits_max = 18; // of a number that fits
    std::uint64_t value = 0;
    std::size_t digits = 0;
    for (; digits < s.value_length && s.value[digits] >= '0' && s.value[digits] <= '9'; ++digits)
        value = value * 10 + static_cast<std::uint64_t>(s.value[digits] - '0');
    if (same_text("max", s.value, s.value_length))
        value = unlimited;
    else if (digits == 0 || digits != s.value_length || digits > digits_max)
        return refused(s, "it is no whole number", "digits, or max");
    if (id == allot_option_purge_delay_ms) out_.purge_delay_ms = value;
}

void parser::apply_choice(std::uint32_t id, const spelled &s) {
    const auto is = [&s](const char *word) { return same_text(word, s.value, s.value_length); };
    if (id == allot_option_oom && is("fail"))
        out_.oom = oom_policy::fail;
    else if (id == allot_option_oom && is("kill"))
        out_.oom = oom_policy::kill;
    else if (id == allot_option_oom && is("abort"))
        out_.oom = oom_policy::abort;
    else if (id == allot_option_account && is("all"))
        out_.account = account_scope::all;
    else if (id == allot_option_account && is("heap"))
        out_.account = account_scope::heap;
    else if (id == allot_option_requested && is("sampled"))
        out_.requested = request_count::sampled;
    else if (id == allot_option_requested && is("exact"))
        out_.requested = request_count::exact;
    else
        refused(s, "it is none of the words", option_table[id].form);
}

void parser::apply_onoff(std::uint32_t id, const spelled &s) {
    const bool on = same_text("1", s.value, s.value_length);
    if (!on && !same_text("0", s.value, s.value_length)) return refused(s, "it is neither on nor off", "0 or 1");
    switch (id) {
    case allot_option_json: out_.json = on; break;
    case allot_option_verbose: out_.verbose = on; break;
    case allot_option_strict: out_.strict = on; break;
    case allot_option_oom_group: out_.oom_group = on; break;
    case allot_option_throttle: out_.throttle = on; break;
    }
}

void parser::apply_text(std::uint32_t id, const spelled &s) {
    if (id == allot_option_tenant && !is_tenant_path(s.value, s.value_length))
        return refused(s, "it is not a tenant's path", "/ or names of at most 63 bytes, such as /web/api");
    if (id == allot_option_report &&
        (s.value_length == 0 || same_text("off", s.value, s.value_length) || same_text("0", s.value, s.value_length))) {
        out_.report = report_target::off;
        return;
    }
    if (id == allot_option_report &&
        (same_text("stderr", s.value, s.value_length) || same_text("1", s.value, s.value_length))) {
        out_.report = report_target::standard_error;
        return;
    }
    if (id == allot_option_fail_after) return apply_fail_after(s);
    const char *text = arena_.copy(s.value, s.value_length);
    if (text == nullptr) return refused(s, "there is no memory for it", "");
    switch (id) {
    case allot_option_tenant: out_.tenant = text; break;
    case allot_option_hierarchy: out_.hierarchy = text; break;
    case allot_option_dir: out_.dir = text; break;
    case allot_option_preload_library: out_.preload_library = text; break;
    case allot_option_trace: out_.trace = text; break;
    case allot_option_report:
        out_.report = report_target::file;
        out_.report_file = text;
        break;
    }
}

// "3", "3+", "3:/web", "3+:/web"
void parser::apply_fail_after(const spelled &s) {
    constexpr char expected[] = "N, N+, N:PATH or N+:PATH";
    if (s.value_length == 0) return;
    std::size_t digits = 0;
    bool is_positive = false;
    for (; digits < s.value_length && s.value[digits] >= '0' && s.value[digits] <= '9'; ++digits)
        is_positive |= s.value[digits] != '0';
    constexpr std::size_t digits_max = 18; // of a number that fits
    if (!is_positive || digits > digits_max) return refused(s, "it counts no allocation", expected);
    const std::size_t count_length = digits + (digits < s.value_length && s.value[digits] == '+');
    const char *path = s.value + count_length + 1;
    const std::size_t path_length = s.value_length > count_length ? s.value_length - count_length - 1 : 0;
    const bool has_path = s.value_length > count_length;
    if (has_path && (s.value[count_length] != ':' || !is_tenant_path(path, path_length)))
        return refused(s, "behind the number comes a tenant's path", expected);
    const char *count_copy = arena_.copy(s.value, count_length);
    const char *path_copy = has_path ? arena_.copy(path, path_length) : "";
    if (count_copy == nullptr || path_copy == nullptr) return refused(s, "there is no memory for it", "");
    out_.fail_after = count_copy;
    out_.fail_after_path = path_copy;
}

void parser::apply_list(std::uint32_t id, const spelled &s) {
    struct context {
        parser *self;
        const spelled *of;
    } state{this, &s};
    const list_errors errors{&state, [](void *p, const char *item, std::size_t length, const char *why) {
                                 const auto &c = *static_cast<context *>(p);
                                 c.self->refused({c.of->place, c.of->name, c.of->name_length, item, length}, why, "");
                             }};
    switch (id) {
    case allot_option_map: parse_map(s.value, s.value_length, arena_, out_, errors); break;
    case allot_option_exclude: parse_exclude(s.value, s.value_length, arena_, out_, errors); break;
    case allot_option_tree: parse_tree(s.value, s.value_length, arena_, out_, errors); break;
    }
}

void parser::apply(std::uint32_t id, const spelled &s) {
    switch (option_table[id].type) {
    case option_type::size: return apply_size(id, s);
    case option_type::number: return apply_number(id, s);
    case option_type::choice: return apply_choice(id, s);
    case option_type::onoff: return apply_onoff(id, s);
    case option_type::text: return apply_text(id, s);
    case option_type::list: return apply_list(id, s);
    }
}

// "ALLOT_MEMORY_MAX=512M". Other people's variables are passed over.
void parser::variable(const char *entry) {
    constexpr char prefix[] = "ALLOT_";
    for (std::size_t i = 0; prefix[i] != '\0'; ++i)
        if (entry[i] != prefix[i]) return;
    std::size_t n = 0;
    while (entry[n] != '\0' && entry[n] != '=') ++n;
    if (entry[n] == '\0' || same_text("ALLOT_CONF", entry, n)) return;
    const spelled s{"", entry, n, entry + n + 1, text_length(entry + n + 1)};
    const char *nearest = "ALLOT_CONF";
    std::uint32_t distance = edit_distance(entry, n, nearest, text_length(nearest));
    for (std::uint32_t id = 0; id < allot_nr_options; ++id) {
        const char *name = option_table[id].variable;
        if (same_text(name, entry, n)) return apply(id, s);
        const std::uint32_t d = edit_distance(entry, n, name, text_length(name));
        if (d < distance) distance = d, nearest = name;
    }
    unknown(s, nearest);
}

// "memory.max:512M,oom:abort"
void parser::configuration(const char *text) {
    while (*text != '\0') {
        std::size_t end = 0;
        std::size_t colon = 0;
        while (text[end] != '\0' && text[end] != ',') ++end;
        while (colon < end && text[colon] != ':') ++colon;
        const bool has_value = colon < end;
        const spelled s{"ALLOT_CONF: ", text, colon, has_value ? text + colon + 1 : text,
                        has_value ? end - colon - 1 : 0};
        const char *nearest = "";
        std::uint32_t distance = ~0U;
        std::uint32_t found = allot_nr_options;
        for (std::uint32_t id = 0; id < allot_nr_options; ++id) {
            const char *name = option_table[id].name;
            if (same_text(name, text, colon)) found = id;
            const std::uint32_t d = edit_distance(text, colon, name, text_length(name));
            if (d < distance) distance = d, nearest = name;
        }
        if (end != 0) {
            if (found == allot_nr_options)
                unknown(s, nearest);
            else if (!has_value)
                refused(s, "it has no value", "name:value");
            else
                apply(found, s);
        }
        text += end + (text[end] == ',');
    }
}

void parser::find_programs() {
    char name[256];
    program_file_name(name, sizeof name);
    if (const char *copy = arena_.copy(name, text_length(name))) out_.program = copy;
    executable_file_name(name, sizeof name);
    if (const char *copy = arena_.copy(name, text_length(name))) out_.executable = copy;
    for (std::uint32_t i = 0; i < out_.nr_exclude; ++i) {
        const char *excluded = out_.exclude[i];
        const std::size_t length = text_length(excluded);
        if (same_text(out_.program, excluded, length) || same_text(out_.executable, excluded, length))
            out_.excluded = true;
    }
}

} // namespace

void options_parse(options &out, char *const *environment, option_problems &problems) {
    out = options{};
    problems = {};
    parser p(out, problems);
    // The one variable for all comes first, so that a variable of its own overrides a key in it.
    constexpr char conf[] = "ALLOT_CONF=";
    for (char *const *e = environment; *e != nullptr; ++e)
        if (same_text(conf, *e, sizeof conf - 1)) p.configuration(*e + sizeof conf - 1);
    for (char *const *e = environment; *e != nullptr; ++e) p.variable(*e);
    p.find_programs();
}

} // namespace allot
