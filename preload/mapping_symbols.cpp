// libc's names for the functions of preload/mappings.hpp. They are apart so that tests can call those without taking
// mmap away from themselves. No header of libc is included: with 64-bit file offsets it renames mmap to mmap64.
#include "alloc/callers.hpp"
#include "preload/export.hpp"
#include "preload/mappings.hpp"

#include <cstdarg>

static_assert(sizeof(off_t) == 8, "mmap and mmap64 are one function only where file offsets have 64 bits");

extern "C" {

ALLOT_EXPORT void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset) noexcept {
    allot::caller_scope in(__builtin_return_address(0));
    return allot::mapped_mmap(address, length, protection, flags, fd, offset);
}

ALLOT_EXPORT void *mmap64(void *address, size_t length, int protection, int flags, int fd, off_t offset) noexcept {
    allot::caller_scope in(__builtin_return_address(0));
    return allot::mapped_mmap(address, length, protection, flags, fd, offset);
}

ALLOT_EXPORT int munmap(void *address, size_t length) noexcept { return allot::mapped_munmap(address, length); }

// The fifth argument is read whether it was passed or not, as libc does; the kernel looks at it with MREMAP_FIXED and
// MREMAP_DONTUNMAP only.
ALLOT_EXPORT void *mremap(void *address, size_t old_length, size_t new_length, int flags, ...) noexcept {
    va_list arguments;
    va_start(arguments, flags);
    void *new_address = va_arg(arguments, void *);
    va_end(arguments);
    allot::caller_scope in(__builtin_return_address(0));
    return allot::mapped_mremap(address, old_length, new_length, flags, new_address);
}

ALLOT_EXPORT int mprotect(void *address, size_t length, int protection) noexcept {
    allot::caller_scope in(__builtin_return_address(0));
    return allot::mapped_mprotect(address, length, protection);
}

ALLOT_EXPORT int pkey_mprotect(void *address, size_t length, int protection, int key) noexcept {
    allot::caller_scope in(__builtin_return_address(0));
    return allot::mapped_pkey_mprotect(address, length, protection, key);
}

ALLOT_EXPORT int brk(void *end) noexcept {
    allot::caller_scope in(__builtin_return_address(0));
    return allot::mapped_brk(end);
}

ALLOT_EXPORT void *sbrk(intptr_t increment) noexcept {
    allot::caller_scope in(__builtin_return_address(0));
    return allot::mapped_sbrk(increment);
}

// Another name of it that libc exports.
ALLOT_EXPORT void *__sbrk(intptr_t increment) noexcept {
    allot::caller_scope in(__builtin_return_address(0));
    return allot::mapped_sbrk(increment);
}

} // extern "C"
