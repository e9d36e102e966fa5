// Columns of text: the first to the left, the others to the right, each as wide as it must be.
//
// Threads: one. Owner: values. Cost: linear in the text.
// Invariants: 1. What others named cannot steer a terminal: bytes that could are shown as '?'.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace allot {

// Rows have a cell for each heading or fewer. A line each, without blanks at the end.
[[nodiscard]] std::vector<std::string> table_lines(const std::vector<std::string> &headings,
                                                   const std::vector<std::vector<std::string>> &rows);

// With '?' for control characters, and for what is no UTF-8.
[[nodiscard]] std::string shown(const std::string &name);
// How many columns it takes: characters of UTF-8.
[[nodiscard]] std::size_t columns_of(const std::string &text);
// Cut, or filled with blanks, to a number of columns.
[[nodiscard]] std::string fitted(const std::string &text, std::size_t columns);

// "63.9M"; a limit that is short as it was given, "64M", "max".
[[nodiscard]] std::string bytes_text(std::uint64_t bytes);
[[nodiscard]] std::string limit_text(std::uint64_t bytes);

} // namespace allot
