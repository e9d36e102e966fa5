#include "bench/experiment.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <time.h>

namespace allot::bench {
namespace {

constexpr double no_bound = std::numeric_limits<double>::max();

std::string joined(const std::vector<std::string> &words) {
    std::string all;
    for (const std::string &word : words) all += (all.empty() ? "" : ", ") + word;
    return all;
}

std::string shown(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", value);
    return text;
}

// A whole number with K, M or G behind it, as powers of 1024. False: it is not one.
bool parse_number(const std::string &text, std::uint64_t &value) {
    char *end = nullptr;
    errno = 0;
    value = std::strtoull(text.c_str(), &end, 10);
    if (end == text.c_str() || text[0] < '0' || text[0] > '9' || errno != 0) return false;
    if (*end == '\0') return true;
    const std::string units = "KMG";
    const std::size_t unit = units.find(*end);
    if (unit == std::string::npos || end[1] != '\0') return false;
    const std::size_t shift = 10 * (unit + 1);
    if (value > std::numeric_limits<std::uint64_t>::max() >> shift) return false;
    value <<= shift;
    return true;
}

double now(clockid_t clock) {
    timespec t;
    clock_gettime(clock, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

} // namespace

void options::number(const char *name, std::uint64_t &target, std::uint64_t least) {
    all_.push_back({name, &target, static_cast<double>(least), no_bound, {}});
}
void options::real(const char *name, double &target, double least, double most) {
    all_.push_back({name, &target, least, most, {}});
}
void options::word(const char *name, std::string &target, std::vector<std::string> allowed) {
    all_.push_back({name, &target, 0, no_bound, std::move(allowed)});
}
void options::flag(const char *name, bool &target) { all_.push_back({name, &target, 0, no_bound, {}}); }

void options::parse(int argc, char **argv) const {
    for (int i = 1; i < argc; ++i) {
        const std::string name = argv[i];
        const auto found = std::find_if(all_.begin(), all_.end(), [&](const option &o) { return o.name == name; });
        if (found == all_.end()) fail(name + ": expected one of " + names());
        if (bool *const *target = std::get_if<bool *>(&found->target)) {
            **target = true;
        } else {
            if (i + 1 >= argc) fail(name + ": a value is missing");
            set(*found, argv[++i]);
        }
    }
}

void options::set(const option &o, const std::string &value) const {
    const auto wrong = [&](const std::string &expected) { fail(o.name + " " + value + ": expected " + expected); };
    const auto bounds = [&] {
        const std::string most = o.most == no_bound ? "" : " and at most " + shown(o.most);
        return "a number of at least " + shown(o.least) + most;
    };
    if (std::uint64_t *const *number = std::get_if<std::uint64_t *>(&o.target)) {
        if (!parse_number(value, **number) || static_cast<double>(**number) < o.least)
            wrong(bounds() + ", such as 64 or 8M");
    } else if (double *const *real = std::get_if<double *>(&o.target)) {
        char *end = nullptr;
        **real = std::strtod(value.c_str(), &end);
        if (value.empty() || *end != '\0' || !(**real >= o.least && **real <= o.most)) wrong(bounds());
    } else if (std::string *const *word = std::get_if<std::string *>(&o.target)) {
        **word = value;
        if (!o.allowed.empty() && std::find(o.allowed.begin(), o.allowed.end(), value) == o.allowed.end())
            wrong("one of " + joined(o.allowed));
    }
}

std::string options::names() const {
    std::vector<std::string> words;
    for (const option &o : all_) words.push_back(o.name);
    return joined(words);
}

std::string options::json() const {
    std::string text;
    for (const option &o : all_) {
        if (o.name == "--seconds" || o.name == "--traps" || o.name == "--json") continue;
        std::string key = o.name.substr(2);
        std::replace(key.begin(), key.end(), '-', '_');
        text += (text.empty() ? "\"" : ",\"") + key + "\":";
        if (std::uint64_t *const *number = std::get_if<std::uint64_t *>(&o.target))
            text += std::to_string(**number);
        else if (double *const *real = std::get_if<double *>(&o.target))
            text += shown(**real);
        else if (std::string *const *word = std::get_if<std::string *>(&o.target))
            text += "\"" + **word + "\""; // one of those that are allowed: nothing to escape
        else
            text += **std::get_if<bool *>(&o.target) ? "true" : "false";
    }
    return text;
}

counts counts_of(const memcg::tally &t) {
    counts all;
    for (const memcg::tally_field &field : memcg::tally_fields) all.emplace_back(field.name, t.*field.count);
    all.emplace_back("shared", t.shared());
    return all;
}

std::uint64_t count_named(const counts &all, const char *name) {
    for (const auto &[known, value] : all)
        if (known == name) return value;
    return 0;
}

std::string json_of(const char *bench, const options &o, const outcome &r) {
    std::string text = std::string{"{\"bench\":\""} + bench + "\"," + o.json() + ",\"seconds\":" + shown(r.seconds) +
                       ",\"cpu_seconds\":" + shown(r.cpu_seconds) + ",\"operations\":" + std::to_string(r.operations) +
                       ",\"operations_per_second\":" + shown(static_cast<double>(r.operations) / r.seconds) +
                       ",\"counts\":{";
    for (const auto &[name, value] : r.counted)
        text += (&name == &r.counted.front().first ? "\"" : ",\"") + name + "\":" + std::to_string(value);
    return text + "}}";
}

stopwatch::stopwatch() : wall_(now(CLOCK_MONOTONIC)), cpu_(now(CLOCK_PROCESS_CPUTIME_ID)) {}

void stopwatch::read(outcome &r) const {
    r.seconds = now(CLOCK_MONOTONIC) - wall_;
    r.cpu_seconds = now(CLOCK_PROCESS_CPUTIME_ID) - cpu_;
}

} // namespace allot::bench
