// Who pays for a mapping made now, and what is said of those for which nobody does: the seam between the mapping functions and the rest of allot.
//
// Threads: any. Cost: a few loads.
#pragma once

#include <cstdint>

namespace allot {

// obj_cgroup of the calling thread's active tenant; 0: nobody is charged (option `account` is `heap`, or nothing is
// counted in this process).
std::uint32_t mapping_owner();

// So many bytes more, or less, are writable and charged to nobody. Reported where `account` is `heap`.
void mapping_note_uncounted(std::int64_t bytes);

} // namespace allot
