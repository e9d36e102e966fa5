// What any function of the family returns, any that frees accepts: libc's public names and its old inner ones.
#include "expect.h"
#include <dlfcn.h>
#include <malloc.h>

typedef void *allocating(size_t);
typedef void freeing(void *);
#define inner(type, name) ((__typeof__(type) *)dlsym(RTLD_DEFAULT, name))
static void *by_calloc(size_t n) { return calloc(1, n); }
static void *by_realloc(size_t n) { return realloc(malloc(1), n); }
static void *by_array(size_t n) { return reallocarray(NULL, n, 1); }
static void *by_memalign(size_t n) { return memalign(256, n); }
static void *by_aligned(size_t n) { return aligned_alloc(64, n); }
static void *by_posix(size_t n) {
    void *p;
    return posix_memalign(&p, 128, n) ? NULL : p;
}
static void *by_strdup(size_t n) { return n ? strdup("a text") : NULL; }
static void *inner_calloc(size_t n) { return inner(void *(size_t, size_t), "__libc_calloc")(1, n); }
static void *inner_realloc(size_t n) { return inner(void *(void *, size_t), "__libc_realloc")(NULL, n); }
static void *inner_memalign(size_t n) { return inner(void *(size_t, size_t), "__libc_memalign")(64, n); }
static void free_by_realloc(void *p) { expect(realloc(p, opaque_size(0)) == NULL); }
static void free_grown(void *p) { free(realloc(p, malloc_usable_size(p) * 3 + 1)); }

int main(void) {
    allocating *const makers[] = {malloc,
                                  by_calloc,
                                  by_realloc,
                                  by_array,
                                  by_memalign,
                                  by_aligned,
                                  by_posix,
                                  valloc,
                                  pvalloc,
                                  by_strdup,
                                  inner(allocating, "__libc_malloc"),
                                  inner_calloc,
                                  inner_realloc,
                                  inner_memalign,
                                  inner(allocating, "__libc_valloc"),
                                  inner(allocating, "__libc_pvalloc")};
    freeing *const enders[] = {free, free_by_realloc, free_grown, inner(freeing, "__libc_free"),
                               inner(freeing, "cfree")};
    for (size_t m = 0; m < sizeof makers / sizeof *makers; ++m)
        for (size_t e = 0; e < sizeof enders / sizeof *enders; ++e)
            for (size_t size = 1; size < 3u << 20; size = size * 8 + 3) {
                if (!enders[e]) continue; // cfree: libc kept it for old programs only
                void *p = makers[m](size);
                expect(p && malloc_usable_size(p) >= (makers[m] == by_strdup ? 7 : size));
                memset(p, 1, malloc_usable_size(p));
                enders[e](p);
            }
}
