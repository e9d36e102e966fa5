// The unit of sharing between cores.
#pragma once

#include <cstddef>

namespace allot {

// What one core writes and what others read often lie this far apart. A constant of the ABI of a region, and therefore
// not std::hardware_destructive_interference_size, which changes with compiler flags.
inline constexpr std::size_t cache_line_bytes = 64;

} // namespace allot
