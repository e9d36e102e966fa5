// A block that grows and shrinks keeps what fits, across every border of sizes; a refused realloc keeps all of it.
#include "expect.h"

int main(void) {
    size_t size = 1;
    unsigned char *p = malloc(1);
    p[0] = 0;
    for (unsigned step = 0; step < 3000; ++step) {
        const size_t next = (step * 2654435761u >> 7) % (step % 50 == 0 ? 3000000 : 5000) + 1;
        unsigned char *q = realloc(p, next);
        expect(q);
        for (size_t i = 0; i < (size < next ? size : next); ++i) expect(q[i] == (unsigned char)(i * 31));
        for (size_t i = size; i < next; ++i) q[i] = (unsigned char)(i * 31);
        p = q;
        size = next;
    }
    errno = 0;
    expect(realloc(p, opaque_size(PTRDIFF_MAX)) == NULL && errno == ENOMEM);
    errno = 0;
    expect(reallocarray(p, opaque_size(SIZE_MAX / 2), 3) == NULL && errno == ENOMEM);
    for (size_t i = 0; i < size; ++i) expect(p[i] == (unsigned char)(i * 31));
    free(p);
}
