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

// Writes /c/b/a for the `count` names a, b, c, each of `name_bytes` at most, as a path; / for none. What is returned is its length,
// which is size or more if it did not fit.
constexpr std::size_t write_names(const char *const *names, std::size_t count, std::size_t name_bytes, char *buffer,
                                  std::size_t size) {
    std::size_t length = 0;
    auto put = [&](char c) {
        if (length + 1 < size) buffer[length] = c;
        ++length;
    };
    if (count == 0) put('/');
    while (count-- > 0) {
        put('/');
        for (std::size_t i = 0; i < name_bytes && names[count][i] != '\0'; ++i) put(names[count][i]);
    }
    if (size != 0) buffer[length < size ? length : size - 1] = '\0';
    return length;
}

} // namespace allot
