// mmap and its kin with a bill: private anonymous memory that the program makes writable is charged to a tenant.
//
// It exists because much of what programs use never passes malloc. The functions here do what libc's functions of the
// same names do; preload/mapping_symbols.cpp gives them those names.
//
// What is charged: the pages of private anonymous mappings from the moment they are writable, whether touched or not
// (the promise is what can be limited; a touch cannot be refused), to the active tenant of the thread that asks. They
// stay charged until they are unmapped, also when they are made read-only or unreachable, since their contents stay.
// What is not: PROT_NONE and read-only mappings; shared and file mappings (their memory is the page cache's);
// what libc maps for itself (thread stacks) and what the allocator maps (charged by object).
//
// Threads: any, also signal handlers, also children of vfork. A handler that interrupts the few instructions in which
//   this thread changes the books is passed through to the kernel, unbooked.
// Errors: as the kernel; ENOMEM also when a tenant's limit refuses, with nothing changed.
// Invariants:
//   1. What is booked as charged is charged, once; what is not booked costs nothing when it goes.
//   2. In the child of a fork everything inherited is booked to nobody: its parent pays for it.
//   3. errno changes on failure only.
// Cost: two to four uncontended lock operations and O(log n) beside the system call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <sys/types.h>

namespace allot {

void *mapped_mmap(void *address, std::size_t length, int protection, int flags, int fd, off_t offset);
int mapped_munmap(void *address, std::size_t length);
void *mapped_mremap(void *old_address, std::size_t old_length, std::size_t new_length, int flags, void *new_address);
int mapped_mprotect(void *address, std::size_t length, int protection);
int mapped_pkey_mprotect(void *address, std::size_t length, int protection, int key);
int mapped_brk(void *end);
void *mapped_sbrk(std::intptr_t increment);

} // namespace allot
