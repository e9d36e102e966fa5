// Sizes as people write them: "512M", "1G500M", "50%", "max" to bytes, and back.
//
// They exist because the command, the environment, tree files and the files of a tenant must all accept the same text,
// and because the library may use neither strtod (its decimal point follows the locale) nor anything that allocates.
// What is accepted is what the kernel's cgroup files and systemd accept together, minus what is ambiguous.
//
// Threads: pure functions, any thread, any signal handler.
// Owner: nobody; results are values or constants.
// Invariants: 1. A parsed size is < unlimited, or is unlimited exactly (`max`, `infinity`).
//             2. Bytes are kept, not rounded to pages: limits here are byte-grained.
//             3. format_bytes_exact() of a size parses back to that size.
// Cost: linear in the text; no shared writes.
#pragma once

#include "accounting/base/units.hpp"

#include <cstddef>
#include <cstdint>

namespace allot {

enum class size_error : std::uint32_t {
    none,
    empty,
    negative,
    not_a_number,
    exponent,
    decimal_unit,
    unknown_unit,
    fraction_of_a_byte,
    unit_order,
    percent_in_a_sum,
    over_100_percent,
    percent_of_nothing,
    too_large,
};

struct size_result {
    std::uint64_t bytes; // meaningful when error is none
    size_error error;
};

// What a percentage is taken of when the caller knows nothing to take it of: then N% is refused.
inline constexpr std::uint64_t no_percent_base = 0;

// Parses the whole text. Spaces around it and a final newline (what `echo` writes into a file) are ignored.
[[nodiscard]] size_result size_parse(const char *text, std::size_t length, std::uint64_t percent_base);
[[nodiscard]] size_result size_parse(const char *text, std::uint64_t percent_base);

// Whether the text is a percentage, so that a caller with a better base than RAM can take it of that.
[[nodiscard]] bool size_is_percentage(const char *text);

// Why a text was refused and what to write instead, in one phrase without a full stop: "5MB is ambiguous" style reasons.
[[nodiscard]] const char *size_error_hint(size_error);

// What is expected, for the end of an error line.
inline constexpr const char size_expected[] =
    "bytes, or a number with K, M, G, T, P or E (powers of 1024; 1.5G, 1G500M, 5MiB), N%, or max";

// The longest text the two below write, with its terminating zero.
inline constexpr std::size_t size_text_bytes = 24;

// "64M", "1536K", "4097", "max": the largest unit that divides, so that it reads back as the same number.
// Both return `out`.
const char *format_bytes_exact(std::uint64_t bytes, char (&out)[size_text_bytes]);
// "63.9M", "4.0K", "812", "max": one decimal, rounded to nearest, for reports.
const char *format_bytes_rounded(std::uint64_t bytes, char (&out)[size_text_bytes]);

} // namespace allot
