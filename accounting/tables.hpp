// The descriptors of statistics, events and options: what every renderer, getter and parser loops over.
//
// They exist so that a name is written once: the .def files are expanded into the enum (allot/stats.h) and into the
// arrays below, and nowhere else. A mistake in a table stops the build with a sentence.
//
// Threads: constants.
// Owner: read-only data of the binary that includes this.
// Invariants: 1. The index of a descriptor is its enumerator, so an id from a region or the C API is checked by one
//                comparison and then used as an index.
//             2. Names are unique and entries are sorted by `since`: tables are appended to.
// Cost: look-ups by name are linear, tables are short.
#pragma once

#include "accounting/base/units.hpp"

#include <allot/stats.h>

#include <cstddef>
#include <cstdint>

namespace allot {

enum class stat_kind : std::uint32_t { gauge, counter };
enum class stat_unit : std::uint32_t { bytes, objects, events, threads, microseconds };
enum class option_type : std::uint32_t { size, choice, onoff, text, list, number };
enum class option_when : std::uint32_t { start, command };

struct stat_descriptor {
    const char *name;
    stat_kind kind;
    stat_unit unit;
    std::uint32_t since; // minor version of 0.x
};

struct event_descriptor {
    const char *name;
    std::uint32_t since;
};

struct option_descriptor {
    const char *name;  // key in ALLOT_CONF
    char variable[32]; // name in the environment
    option_type type;
    const char *default_text;
    std::uint64_t min; // of a size, in bytes, or of a number
    std::uint64_t max;
    const char *form; // what a value looks like; of a choice, its words with | between
    option_when when;
    std::uint32_t since;
};

namespace detail {

// "memory.max" becomes "ALLOT_MEMORY_MAX". A name too long for the array is an index out of range, which stops the build.
constexpr option_descriptor with_variable(option_descriptor d) {
    std::size_t n = 0;
    for (const char *p = "ALLOT_"; *p != '\0'; ++p) d.variable[n++] = *p;
    for (const char *p = d.name; *p != '\0'; ++p) {
        const bool is_lower = *p >= 'a' && *p <= 'z';
        d.variable[n++] = is_lower ? static_cast<char>(*p - 'a' + 'A') : *p == '.' ? '_' : *p;
    }
    d.variable[n] = '\0';
    return d;
}

} // namespace detail

inline constexpr stat_descriptor stat_table[] = {
#define ALLOT_STAT(id, kind, unit, since, help) {#id, stat_kind::kind, stat_unit::unit, since},
#include <allot/stats.def>
#undef ALLOT_STAT
};

inline constexpr event_descriptor event_table[] = {
#define ALLOT_EVENT(id, since, help) {#id, since},
#include <allot/events.def>
#undef ALLOT_EVENT
};

inline constexpr option_descriptor option_table[] = {
#define ALLOT_OPTION(id, name, type, default_text, min, max, form, when, since, help)                                  \
    detail::with_variable({name, {}, option_type::type, default_text, min, max, form, option_when::when, since}),
#include <allot/options.def>
#undef ALLOT_OPTION
};

// What each is for, by the same index. Beside the descriptors, so that a library, which prints none of it, does not carry it.
inline constexpr const char *stat_help[] = {
#define ALLOT_STAT(id, kind, unit, since, help) help,
#include <allot/stats.def>
#undef ALLOT_STAT
};
inline constexpr const char *event_help[] = {
#define ALLOT_EVENT(id, since, help) help,
#include <allot/events.def>
#undef ALLOT_EVENT
};
inline constexpr const char *option_help[] = {
#define ALLOT_OPTION(id, name, type, default_text, min, max, form, when, since, help) help,
#include <allot/options.def>
#undef ALLOT_OPTION
};

namespace detail {

constexpr bool same_text(const char *a, const char *b) {
    for (; *a != '\0' && *a == *b; ++a, ++b) {}
    return *a == *b;
}

constexpr bool ends_with_full_stop(const char *text) {
    char last = '\0';
    for (; *text != '\0'; ++text) last = *text;
    return last == '.';
}

template<typename Descriptor, std::size_t N>
constexpr bool names_are_unique(const Descriptor (&table)[N]) {
    for (std::size_t i = 0; i < N; ++i)
        for (std::size_t j = i + 1; j < N; ++j)
            if (same_text(table[i].name, table[j].name)) return false;
    return true;
}

template<typename Descriptor, std::size_t N>
constexpr bool is_sorted_by_since(const Descriptor (&table)[N]) {
    for (std::size_t i = 1; i < N; ++i)
        if (table[i - 1].since > table[i].since) return false;
    return true;
}

template<std::size_t N>
constexpr bool all_end_with_a_full_stop(const char *const (&texts)[N]) {
    for (const char *text : texts)
        if (!ends_with_full_stop(text)) return false;
    return true;
}

// Whether `word` is one of the words of "fail|abort".
constexpr bool is_word_of(const char *word, const char *form) {
    while (true) {
        const char *w = word;
        for (; *w != '\0' && *w == *form; ++w, ++form) {}
        if (*w == '\0' && (*form == '\0' || *form == '|')) return true;
        while (*form != '\0' && *form != '|') ++form;
        if (*form == '\0') return false;
        ++form;
    }
}

// Sizes in the table are written as `max` or as plain bytes, so that they can be checked here without the parser.
constexpr bool default_is_in_range(const option_descriptor &d) {
    if (d.type == option_type::choice || d.type == option_type::onoff) return is_word_of(d.default_text, d.form);
    if (d.type != option_type::size && d.type != option_type::number) return d.min == 0 && d.max == 0;
    if (same_text(d.default_text, "max")) return d.max == unlimited;
    std::uint64_t value = 0;
    for (const char *p = d.default_text; *p != '\0'; ++p) {
        if (*p < '0' || *p > '9') return false;
        value = value * 10 + static_cast<std::uint64_t>(*p - '0');
    }
    return *d.default_text != '\0' && d.min <= value && value <= d.max;
}

constexpr bool defaults_are_in_range() {
    for (const option_descriptor &d : option_table)
        if (!default_is_in_range(d)) return false;
    return true;
}

static_assert(names_are_unique(stat_table), "stats.def: two statistics have one name");
static_assert(names_are_unique(event_table), "events.def: two events have one name");
static_assert(names_are_unique(option_table), "options.def: two options have one name");
static_assert(is_sorted_by_since(stat_table), "stats.def: entries are appended, sorted by since");
static_assert(is_sorted_by_since(event_table), "events.def: entries are appended, sorted by since");
static_assert(is_sorted_by_since(option_table), "options.def: entries are appended, sorted by since");
static_assert(all_end_with_a_full_stop(stat_help), "stats.def: a help text must end with a full stop");
static_assert(all_end_with_a_full_stop(event_help), "events.def: a help text must end with a full stop");
static_assert(all_end_with_a_full_stop(option_help), "options.def: a help text must end with a full stop");
static_assert(defaults_are_in_range(), "options.def: a default must be a value the option accepts");

} // namespace detail

// The number of an entry by its name, or nr_... when there is none.
constexpr std::uint32_t find_stat(const char *name) {
    for (std::uint32_t i = 0; i < allot_nr_stats; ++i)
        if (detail::same_text(stat_table[i].name, name)) return i;
    return allot_nr_stats;
}
constexpr std::uint32_t find_event(const char *name) {
    for (std::uint32_t i = 0; i < allot_nr_events; ++i)
        if (detail::same_text(event_table[i].name, name)) return i;
    return allot_nr_events;
}
constexpr std::uint32_t find_option(const char *name) {
    for (std::uint32_t i = 0; i < allot_nr_options; ++i)
        if (detail::same_text(option_table[i].name, name)) return i;
    return allot_nr_options;
}

// Words for the columns of `allot describe` and of OpenMetrics.
constexpr const char *word_of(stat_kind k) { return k == stat_kind::gauge ? "gauge" : "counter"; }
constexpr const char *word_of(stat_unit u) {
    constexpr const char *words[] = {"bytes", "objects", "events", "threads", "microseconds"};
    return words[static_cast<std::uint32_t>(u)];
}
constexpr const char *word_of(option_type t) {
    constexpr const char *words[] = {"size", "choice", "onoff", "text", "list"};
    return words[static_cast<std::uint32_t>(t)];
}
constexpr const char *word_of(option_when w) { return w == option_when::start ? "start" : "command"; }

} // namespace allot
