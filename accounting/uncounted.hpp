// Bytes that this process has mapped writable and that nobody is charged for (option account: heap), for its report.
#pragma once

#include <atomic>
#include <cstdint>

namespace allot {

// Written by the process, read by reports of any; relaxed: nobody decides on them.
struct uncounted_bytes {
    std::atomic<std::uint64_t> now, peak;
};

// This process's: in the record by which others see it where it shares its tree, else in its region.
[[nodiscard]] uncounted_bytes &uncounted();

// So many more, or fewer; never below zero.
void note_uncounted(std::int64_t bytes);

} // namespace allot
