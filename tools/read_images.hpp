// Reads the region files of a run into figures.
//
// Threads: one. Owner: values. Cost: maps each file once.
// Invariants: 1. The bytes of a file are not trusted: a process may have died while it wrote them.
#pragma once

#include "tools/figures.hpp"

#include <string>
#include <vector>

namespace allot {

// One image for each file, in the same order; a file that cannot be read is an image with a problem.
[[nodiscard]] std::vector<image_figures> read_images(const std::vector<std::string> &files);

} // namespace allot
