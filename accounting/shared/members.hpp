// Members: the processes of a hierarchy, whether they live, and what becomes of what the dead ones held.
//
// A member is a process image: its id, its start time and its pid namespace, and the start of its stack, which differs after
// exec. No lock and no descriptor tells that it lives: children inherit both, and programs close what they do not know.
//
// Threads: joining and leaving by the process, at its start, in a forked child, at its end; the rest from any thread of any
//   attached process. No lock: two reapers of the same member do each step once between them.
// Owner: a member's record is the process's until it is dead; then of whoever reaps it.
// Invariants: 1. Only what is surely dead is reaped: its id is gone or another's, its image is another one, or all its threads
//                have ended. A process of another pid namespace whose files of /proc cannot be seen counts as alive.
//             2. A reaped member has no account, no chunk and no record of an operation; the levels above its accounts are
//                lower by what these had, or an heir has it.
// Cost: a look at whether a process lives is up to eight system calls, about 10 us, and one for alive_ns after that.
#pragma once

#include "accounting/shared/layout.hpp"

#include <cstdint>

namespace allot::shared {

// What was seen alive so short a time ago is not looked at again, as long as there is a process of its id.
inline constexpr std::uint64_t alive_ns = 1000000;

// This process's member; 0: it has not joined. Written by join, leave and a forked child; read by all threads.
extern constinit std::uint32_t this_member;
// Its tag, as the owner of records is named.
extern constinit std::uint32_t this_tag;

// Claims a record, after reaping earlier images of this process (exec). copy_of: the member that this process is a forked
// copy of, 0: none. False: there is no room.
[[nodiscard]] bool member_join(std::uint32_t node, std::uint32_t copy_of);
// Before a fork: who dies soon after that is not reaped until its copy has had time to say what it inherits.
inline constexpr std::uint64_t copy_ns = 20000000;
void member_note_fork();
// At the end of the program: a reader can tell this from a death. What it is charged stays until it is dead.
void member_note_exit();

[[nodiscard]] bool member_is_alive(std::uint32_t member);
// Whether the process that a record's owner names is surely dead. Nobody's (0): no.
[[nodiscard]] bool is_tag_dead(std::uint32_t tag);
// Makes a dead member's records free: each account is given back, or passes to an heir: the oldest living copy (member::copy_of)
// that has inherited something there, up to what it has. False: it lives, or there is nothing left to reap.
[[nodiscard]] bool reap(std::uint32_t member);
// Waits for copies that are on their way, copy_ns at most. All dead ones that have something charged at `top` or below, or that hold records where top is the root. How many.
std::uint32_t reap_dead(std::uint32_t top);

// Living members from `from` on, by index: 0 at the end.
[[nodiscard]] std::uint32_t next_member(std::uint32_t from);

} // namespace allot::shared
