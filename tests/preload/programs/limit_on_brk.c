// 16 MiB: the break moves up to the limit and no further; what it gives back can be used again.
#include "expect.h"

int main(void) {
    for (int round = 0; round < 3; ++round) {
        char *start = sbrk(0);
        expect(sbrk(10 << 20) == start);
        memset(start, 1, 10 << 20);
        errno = 0;
        expect(sbrk(10 << 20) == (void *)-1 && errno == ENOMEM && sbrk(0) == start + (10 << 20));
        expect(brk(start + (12 << 20)) == 0);
        expect(malloc(opaque_size(6 << 20)) == NULL);
        expect(brk(start) == 0 && sbrk(0) == start);
        void *p = malloc(15 << 20);
        expect(p);
        free(p);
    }
}
