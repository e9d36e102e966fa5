// memalign takes any alignment and rounds it up to a power of two; valloc and pvalloc align to pages.
#include "expect.h"
#include <malloc.h>

int main(void) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *p = memalign(opaque_size(6), 100), *q = memalign(opaque_size(100), 100), *z = memalign(opaque_size(0), 100);
    expect(p && z && (uintptr_t)p % 8 == 0 && (uintptr_t)q % 128 == 0);
    void *v = valloc(100), *w = pvalloc(opaque_size(page + 1));
    expect((uintptr_t)v % page == 0 && (uintptr_t)w % page == 0 && malloc_usable_size(w) >= 2 * page);
    void *blocks[] = {p, q, z, v, w, pvalloc(opaque_size(1)), pvalloc(opaque_size(0))};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; ++i) {
        memset(blocks[i], 1, malloc_usable_size(blocks[i]));
        free(blocks[i]);
    }
}
