#include "accounting/nearest.hpp"

namespace allot {
namespace {

constexpr char folded(char c) {
    if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
    return c == '_' || c == '-' ? '.' : c;
}

constexpr std::uint32_t least(std::uint32_t a, std::uint32_t b) { return a < b ? a : b; }

} // namespace

std::uint32_t edit_distance(const char *a, std::size_t a_length, const char *b, std::size_t b_length) {
    if (a_length > nearest_max_length) a_length = nearest_max_length;
    if (b_length > nearest_max_length) b_length = nearest_max_length;
    // Three rows of the table of distances between prefixes: a swap looks two rows back.
    std::uint32_t rows[3][nearest_max_length + 1];
    for (std::uint32_t j = 0; j <= b_length; ++j) rows[0][j] = j;
    for (std::uint32_t i = 1; i <= a_length; ++i) {
        std::uint32_t *const row = rows[i % 3];
        const std::uint32_t *const above = rows[(i + 2) % 3];
        const std::uint32_t *const two_above = rows[(i + 1) % 3];
        row[0] = i;
        for (std::uint32_t j = 1; j <= b_length; ++j) {
            const char x = folded(a[i - 1]);
            const char y = folded(b[j - 1]);
            row[j] = least(least(above[j] + 1, row[j - 1] + 1), above[j - 1] + (x == y ? 0 : 1));
            const bool swapped = i > 1 && j > 1 && x == folded(b[j - 2]) && folded(a[i - 2]) == y;
            if (swapped) row[j] = least(row[j], two_above[j - 2] + 1);
        }
    }
    return rows[a_length % 3][b_length];
}

} // namespace allot
