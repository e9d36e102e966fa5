// Zero bytes are a block of their own; realloc to zero frees, answers NULL and leaves errno alone.
#include "expect.h"
#include <malloc.h>

int main(void) {
    const size_t zero = opaque_size(0);
    void *blocks[] = {malloc(zero),       calloc(zero, 7), calloc(7, zero), realloc(NULL, zero),
                      memalign(64, zero), valloc(zero),    pvalloc(zero),   reallocarray(NULL, zero, 3)};
    const int count = sizeof blocks / sizeof *blocks;
    for (int i = 0; i < count; ++i) {
        expect(blocks[i]);
        for (int j = 0; j < i; ++j) expect(blocks[i] != blocks[j]);
    }
    for (int i = 0; i < count; ++i) {
        memset(blocks[i], 1, malloc_usable_size(blocks[i]));
        errno = 0;
        expect(realloc(blocks[i], zero) == NULL);
        expect(errno == 0);
    }
}
