#include "preload/glob.hpp"

namespace allot {

namespace {

// The end of a set that begins at '[', behind its ']'; nullptr if it has none. A ']' first in the set belongs to it.
const char *set_end(const char *set) {
    const char *at = set + 1;
    if (*at == '!' || *at == '^') ++at;
    if (*at == ']') ++at;
    while (*at && *at != ']') ++at;
    return *at ? at + 1 : nullptr;
}

bool in_set(const char *set, const char *end, unsigned char c) {
    const char *at = set + 1;
    const char *const last = end - 1; // the ']'
    const bool inverted = *at == '!' || *at == '^';
    if (inverted) ++at;
    bool found = false;
    while (at < last) {
        const auto low = static_cast<unsigned char>(*at);
        const bool is_range = at + 2 < last && at[1] == '-';
        const auto high = is_range ? static_cast<unsigned char>(at[2]) : low;
        found |= low <= c && c <= high;
        at += is_range ? 3 : 1;
    }
    return found != inverted;
}

// Matches one character and moves behind what matched it; nullptr: it does not fit.
const char *match_one(const char *pattern, unsigned char c) {
    if (*pattern == '?') return pattern + 1;
    if (*pattern == '[') {
        if (const char *end = set_end(pattern)) return in_set(pattern, end, c) ? end : nullptr;
    }
    if (*pattern == '\\' && pattern[1]) ++pattern;
    return static_cast<unsigned char>(*pattern) == c ? pattern + 1 : nullptr;
}

} // namespace

bool glob_match(const char *pattern, const char *text) {
    // Only the last * can need another try: what it gives up, an earlier one could not use better.
    const char *after_star = nullptr;
    const char *retry = nullptr;
    while (*text) {
        if (*pattern == '*') {
            after_star = ++pattern;
            retry = text;
        } else if (const char *next = *pattern ? match_one(pattern, static_cast<unsigned char>(*text)) : nullptr) {
            pattern = next;
            ++text;
        } else if (after_star) {
            pattern = after_star;
            text = ++retry;
        } else {
            return false;
        }
    }
    while (*pattern == '*') ++pattern;
    return *pattern == '\0';
}

} // namespace allot
