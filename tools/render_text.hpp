// The report of a run for people.
//
// Threads: one. Owner: values. Cost: none that matters.
#pragma once

#include "tools/figures.hpp"

#include <cstddef>
#include <string>

namespace allot {

inline constexpr std::size_t processes_shown = 100; // the oldest; the rest are counted

[[nodiscard]] std::string render_text(const run_figures &);

} // namespace allot
