// The usable size is writable to its last byte, stays what it is, and realloc to it moves nothing.
#include "expect.h"
#include <malloc.h>

int main(void) {
    expect(malloc_usable_size(opaque(NULL)) == 0);
    for (size_t size = 1; size < 10u << 20; size = size * 9 / 7 + 1) {
        void *neighbour = malloc(size);
        memset(neighbour, 5, size);
        void *p = malloc(size);
        const size_t usable = malloc_usable_size(p);
        expect(usable >= size);
        memset(p, 6, usable);
        expect(malloc_usable_size(p) == usable);
        expect(realloc(p, usable) == p);
        for (size_t i = 0; i < size; i += 13) expect(((char *)neighbour)[i] == 5);
        free(p);
        free(neighbour);
    }
}
