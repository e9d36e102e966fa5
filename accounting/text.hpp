// The few things to do with C strings that the libraries need, without libc's: those may be wrapped by a debugger or a
// sanitizer, and are not there before relocation.
//
// Threads: pure functions. Owner: nobody. Cost: linear.
// Invariants: 1. What is written is always terminated.
#pragma once

#include <cstddef>

namespace allot {

constexpr std::size_t text_length(const char *text) {
    std::size_t n = 0;
    while (text[n] != '\0') ++n;
    return n;
}

// Whether the first b_length bytes of b are the whole of a.
constexpr bool same_text(const char *a, const char *b, std::size_t b_length) {
    for (std::size_t i = 0; i < b_length; ++i)
        if (a[i] != b[i] || a[i] == '\0') return false;
    return a[b_length] == '\0';
}

// Cut to size, which is at least 1.
constexpr void copy_text(const char *from, char *to, std::size_t size) {
    std::size_t n = 0;
    for (; n + 1 < size && from[n] != '\0'; ++n) to[n] = from[n];
    to[n] = '\0';
}

} // namespace allot
