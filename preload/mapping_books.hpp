// The books of mappings: which ranges the program has mapped through libc, what they may be used for, and who pays.
//
// They exist apart from the system calls (mappings.hpp), so that each of those reads as: take out of the books, charge,
// ask the kernel, book what is true now.
//
// Threads: any; the handler of a fault amid a change of its own thread is told to pass. No lock is held between the
//   calls: ranges that are taken out belong to who took them, and nobody else can name them meanwhile unless the program
//   races with itself.
// Owner: the process. Invariants: those of range_map; the charge of a range is held as long as it is in the books or taken.
// Cost: one uncontended lock and O(log n) a call.
#pragma once

#include "preload/range_map.hpp"

#include <cstddef>
#include <cstdint>

namespace allot {

inline constexpr std::uint32_t nobody = 0;

struct interval {
    std::uintptr_t start;
    std::uintptr_t end;
    std::uint64_t bytes() const { return end - start; }
    bool overlaps(const interval &other) const { return start < other.end && other.start < end; }
};

// Gives external bytes back; nobody is charged for free. Charged they are by mapping_bill.hpp.
void mapping_uncharge(std::uint32_t owner, std::uint64_t bytes);

// What has left the books for the time of a system call.
struct taken_ranges {
    interval where{0, 0};
    range_map::node *ranges = nullptr;

    std::uint64_t bytes_of(std::uint32_t owner) const; // that this process has been charged for
    std::uint64_t bytes_of(range_state state) const;
};

// no_memory and pass: nothing was taken. pass: this is a handler inside a change, the kernel shall be asked without us.
enum class take_result { taken, no_memory, pass };
[[nodiscard]] take_result books_take(const interval &where, taken_ranges &out);
void books_put_back(const taken_ranges &taken);

// The taken ranges are gone. What they had been charged is given back, but for one owner's part, which pays for what has
// come in their place.
void books_settle(taken_ranges &taken, std::uint32_t kept_owner = nobody);

// The reserved ranges among the taken ones are writable now, and the owner has been charged for them.
void books_make_writable(const taken_ranges &taken, std::uint32_t owner);

// A new range, which the owner has been charged for if it is writable. What the books hold there was unmapped behind
// their back. False: it cannot be booked.
[[nodiscard]] bool books_enter(const interval &where, std::uint32_t owner, range_state state);

struct mapping_statistics {
    std::uint64_t charged_bytes;   // booked to a tenant by this process
    std::uint64_t uncounted_bytes; // writable and booked to nobody: `account` is `heap`
    std::uint64_t passed;          // calls that could not be booked, see Threads
};
mapping_statistics mapping_statistics_get();

} // namespace allot
