// The C names of malloc and its kin, with glibc's answers at the edges. malloc and free are the fast path itself.
#include "alloc/alloc.hpp"
#include "alloc/fast_path.hpp"
#include "preload/export.hpp"

#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <unistd.h>

using namespace allot;

namespace {

void *fail(int error) {
    errno = error;
    return nullptr;
}

std::size_t os_page_bytes() { return static_cast<std::size_t>(getpagesize()); }

// memalign rounds an alignment that is no power of two up to one, as glibc does.
void *memalign_rounded(std::size_t alignment, std::size_t size, const void *caller) {
    if (alignment > SIZE_MAX / 2 + 1) return fail(EINVAL);
    return aligned_alloc_for_caller(std::bit_ceil(alignment), size, caller);
}

} // namespace

extern "C" {

ALLOT_EXPORT void *malloc(std::size_t size) { return fast_malloc<caller_misses>(size); }
ALLOT_EXPORT void free(void *p) { fast_free(p); }
ALLOT_EXPORT void cfree(void *) ALLOT_SAME_AS(free);
ALLOT_EXPORT void *calloc(std::size_t count, std::size_t size) { return fast_calloc<caller_misses>(count, size); }
ALLOT_EXPORT void *realloc(void *p, std::size_t size) { return fast_realloc<caller_misses>(p, size); }

ALLOT_EXPORT void *reallocarray(void *p, std::size_t count, std::size_t size) {
    std::size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) return fail(ENOMEM);
    return fast_realloc<caller_misses>(p, bytes);
}

ALLOT_EXPORT void *memalign(std::size_t alignment, std::size_t size) {
    return memalign_rounded(alignment, size, __builtin_return_address(0));
}

ALLOT_EXPORT void *aligned_alloc(std::size_t alignment, std::size_t size) {
    if (!std::has_single_bit(alignment)) // glibc 2.38 and later; C17 leaves it open
        return fail(EINVAL);
    return aligned_alloc_for_caller(alignment, size, __builtin_return_address(0));
}

ALLOT_EXPORT int posix_memalign(void **out, std::size_t alignment, std::size_t size) {
    if (!std::has_single_bit(alignment) || alignment % sizeof(void *) != 0) return EINVAL;
    // Sets errno as glibc does, which POSIX leaves open.
    void *p = aligned_alloc_for_caller(alignment, size, __builtin_return_address(0));
    if (p == nullptr) return ENOMEM;
    *out = p;
    return 0;
}

ALLOT_EXPORT void *valloc(std::size_t size) {
    return aligned_alloc_for_caller(os_page_bytes(), size, __builtin_return_address(0));
}

ALLOT_EXPORT void *pvalloc(std::size_t size) {
    std::size_t page = os_page_bytes();
    if (size > SIZE_MAX - page) return fail(ENOMEM);
    return aligned_alloc_for_caller(page, (size + page - 1) & ~(page - 1), __builtin_return_address(0));
}

ALLOT_EXPORT std::size_t malloc_usable_size(void *p) { return heap_usable_size(p); }
ALLOT_EXPORT void free_sized(void *p, std::size_t size) { heap_free_sized(p, size); }
ALLOT_EXPORT void free_aligned_sized(void *p, std::size_t alignment, std::size_t size) {
    heap_free_aligned_sized(p, alignment, size);
}

// Names under which old programs and libraries reach glibc's own.
ALLOT_EXPORT void *__libc_malloc(std::size_t) ALLOT_SAME_AS(malloc);
ALLOT_EXPORT void __libc_free(void *) ALLOT_SAME_AS(free);
ALLOT_EXPORT void *__libc_calloc(std::size_t, std::size_t) ALLOT_SAME_AS(calloc);
ALLOT_EXPORT void *__libc_realloc(void *, std::size_t) ALLOT_SAME_AS(realloc);
ALLOT_EXPORT void *__libc_memalign(std::size_t, std::size_t) ALLOT_SAME_AS(memalign);
ALLOT_EXPORT void *__libc_valloc(std::size_t) ALLOT_SAME_AS(valloc);
ALLOT_EXPORT void *__libc_pvalloc(std::size_t) ALLOT_SAME_AS(pvalloc);
ALLOT_EXPORT int __posix_memalign(void **, std::size_t, std::size_t) ALLOT_SAME_AS(posix_memalign);

} // extern "C"
