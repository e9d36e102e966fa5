// A small reserve for signal handlers that allocate while they interrupt this allocator's own slow path.
//
// Allocating there is undefined behaviour for the program, but crash reporters do it; it must not hang and should work.
// Threads: any, any signal handler: one atomic step. Blocks are not charged; their bytes are used again once no block is
// left; when the reserve is used up, the answer is nullptr.
#pragma once

#include <cstddef>

namespace allot {

void emergency_start();
[[nodiscard]] void *emergency_alloc(std::size_t size, std::size_t alignment);
void emergency_free(); // one block, whichever
std::size_t emergency_usable_size(const void *p);

} // namespace allot
