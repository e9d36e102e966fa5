// Pointers that are not ours but reach our free, realloc or malloc_usable_size.
//
// They exist although the whole malloc family is replaced together: what a library got from libc's own malloc (through
// RTLD_DEEPBIND in another wrapper, through dlmopen, or by the addresses of libc's functions) may be handed to a program
// that frees it through us. Such a block goes back to libc. Everything else is a mistake of the program; it gets one
// line that names it, and ends.
//
// Threads: any. Owner: the block stays libc's; realloc moves its contents to a block of ours.
// Invariants: memory that may not be mapped is never touched: the kernel is asked to read it first.
// Cost: two system calls; this path is rare.
#pragma once

#include <cstddef>

namespace allot {

// What a foreign pointer looks like. Decided from the address and, if it can be read, the word before it.
enum class foreign_kind {
    libc_heap,    // in the area of brk, with the header of a chunk of libc's main arena
    libc_arena,   // in a heap of one of libc's other arenas
    libc_mapping, // a chunk that libc mapped by itself
    unaligned,    // no malloc returns it
    unmapped,     // nothing can be read there
    unknown,      // memory, but not a block of libc's malloc: a stack, a static object, the middle of something
};
[[nodiscard]] foreign_kind foreign_kind_of(const void *pointer);

// Makes the allocator send foreign pointers here. For the constructor of the library.
void foreign_start();

} // namespace allot
