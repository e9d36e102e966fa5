// Threads by name: a thread whose name matches a rule works for that rule's tenant from its start, and again from every
// renaming of itself.
//
// It exists because programs name their threads (worker pools, compaction, network) long before they know of tenants.
// preload/thread_symbols.cpp puts libc's names on what is here.
//
// Threads: any. Owner: a start record belongs to its creator until the new thread takes it over.
// Invariants:
//   1. Without rules nothing here runs but the test whether there are any.
//   2. A thread that no rule matches works for the tenant of the process, which is that of the matching exe rule, if there is one.
//   3. A new thread inherits the name of its creator, as in Linux, and is matched by it.
// Cost: with rules, one system call and one match per start and renaming.
#pragma once

#include <cstdint>

namespace allot {

using thread_routine = void *(void *);

// At start of the process, in its first thread: the exe rules, then the thread rules for its name.
void threads_start();

// Whether new threads have to be looked at.
[[nodiscard]] bool threads_have_rules();

// Matches the calling thread's name now and makes it work for the tenant found.
void thread_apply_rules();

// What a new thread has to run instead: thread_main with the record as its argument. nullptr: no memory.
struct thread_start;
[[nodiscard]] thread_start *thread_start_make(thread_routine *routine, void *argument);
void thread_start_drop(thread_start *); // the thread could not be created
void *thread_main(void *record);

} // namespace allot
