// What malloc, calloc and realloc return is aligned for every type: 16 bytes, whatever the size.
#include "expect.h"

int main(void) {
    for (size_t size = 0; size < 3000; ++size) {
        void *p = malloc(size), *q = calloc(1, size), *r = realloc(NULL, size);
        expect((uintptr_t)p % 16 == 0 && (uintptr_t)q % 16 == 0 && (uintptr_t)r % 16 == 0);
        r = realloc(r, size * 3 + 1);
        expect((uintptr_t)r % 16 == 0);
        free(p);
        free(q);
        free(r);
    }
}
