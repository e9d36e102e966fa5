// The mapping of a shared hierarchy's file in this process.
//
// Threads: attach and detach while nobody else uses it (a process's start, tests, tools); the rest from any thread.
// Owner: the process; a forked child goes on using the mapping.
// Invariants: 1. Attached to one file at most.
//             2. What reach() said yes to can be touched: its memory is there, so that a full file system fails a growth and
//                never raises SIGBUS.
// Cost: a map of 128 MiB of addresses; reach() of what was reached before is a load.
#pragma once

#include "accounting/shared/layout.hpp"

#include <cstdint>

namespace allot::shared {

enum class attach_error : std::uint32_t {
    none,
    not_there,     // there is no such file, or it cannot be opened
    not_ours,      // another user's, or no regular file
    not_a_file,    // not of a hierarchy, or cut short, or never finished
    other_version, // of another major version
    other_layout,  // byte order, or sizes that this build does not know
    no_memory,     // neither addresses nor room in the file system
};
[[nodiscard]] const char *attach_error_text(attach_error); // in one line, without the name of the file

// The file of a hierarchy: DIR/NAME/hierarchy.
inline constexpr char file_name[] = "hierarchy";

struct attached_file {
    attach_error error;
    bool is_new;                // this call made it
    std::uint32_t major, minor; // of the file, also where that is why it was refused; 0 of none
};

// Attaches to DIR/NAME/hierarchy. make: also where there is none (folders 0700, file 0600; complete before it gets its name,
// so that nobody sees it half made).
enum class if_missing : std::uint32_t { fail, make };
[[nodiscard]] attached_file attach(const char *dir, const char *name, if_missing);
// For who only looks: the_file is then a private copy of one moment, if there was a quiet one soon. Also of a torn or foreign
// file nothing leads out of it: texts end, indices are below what is used, parents come before their children.
[[nodiscard]] attached_file attach_copy(const char *dir, const char *name);
void detach(); // tests and tools

// Of this boot of the system; 0: nobody says.
[[nodiscard]] std::uint64_t boot_number();

struct view {
    std::uintptr_t base;         // 0: not attached
    std::uint64_t device, inode; // of the file
};
extern constinit view the_file;

inline bool is_attached() { return the_file.base != 0; }
inline header &head() { return *reinterpret_cast<header *>(the_file.base); }

// Makes the record touchable, in every process. False: no room.
[[nodiscard]] bool reach(part p, std::uint32_t index);
// The same for a piece of the file.
[[nodiscard]] bool reach_bytes(std::uint64_t offset, std::uint64_t bytes);
// The first record of a part that has not been used, now used; 0: there is none, or no room.
[[nodiscard]] std::uint32_t take_fresh(part p);
inline std::uint32_t used(part p) { return head().used[static_cast<std::uint32_t>(p)].load(std::memory_order_seq_cst); }

// Written out at each use: a call, and the place of a part computed anew, would be more code and take longer.
template<class T, part p>
[[gnu::always_inline]] inline T &record(std::uint32_t index) {
    constexpr std::uint64_t offset = part_offset(static_cast<std::uint32_t>(p));
    return *reinterpret_cast<T *>(the_file.base + offset + std::uint64_t{index} * sizeof(T));
}
[[gnu::always_inline]] inline operation &op_at(std::uint32_t index) { return record<operation, part::ops>(index); }
[[gnu::always_inline]] inline member &member_at(std::uint32_t index) { return record<member, part::members>(index); }
[[gnu::always_inline]] inline node &node_at(std::uint32_t index) { return record<node, part::nodes>(index); }
[[gnu::always_inline]] inline account &account_at(std::uint32_t index) {
    return record<account, part::accounts>(index);
}
[[gnu::always_inline]] inline taking &taking_at(std::uint32_t context) {
    return record<taking, part::takings>(context);
}
[[gnu::always_inline]] inline std::atomic<std::uint64_t> &chunk_owner(std::uint32_t chunk) {
    return record<std::atomic<std::uint64_t>, part::chunk_owners>(chunk);
}
[[gnu::always_inline]] inline std::uintptr_t context_address(std::uint32_t index) {
    constexpr std::uint64_t offset = part_offset(static_cast<std::uint32_t>(part::contexts));
    return the_file.base + offset + std::uint64_t{index} * context_bytes;
}

inline std::uint32_t node_of(const account &a) { return low_of(a.owner.load(std::memory_order_acquire)); }
// Whether `node` is `top` or below it.
[[nodiscard]] bool is_node_below(std::uint32_t node, std::uint32_t top);

inline void note_anomaly() { head().anomalies.fetch_add(1, std::memory_order_relaxed); }

} // namespace allot::shared
