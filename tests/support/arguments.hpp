// What programs of tests are told on their command lines.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>

// A number above 0; else the program ends and says so under its name.
inline std::uint64_t number_of(const char *program, const char *text) {
    char *end = nullptr;
    std::uint64_t value = std::strtoull(text, &end, 10);
    if (*text == '\0' || *end != '\0' || value == 0) {
        std::fprintf(stderr, "%s: %s: expected a number above 0\n", program, text);
        std::exit(2);
    }
    return value;
}
