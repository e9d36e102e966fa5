// Products that wrap are refused with ENOMEM.
#include "expect.h"

int main(void) {
    const size_t pairs[][2] = {{(size_t)1 << 33, (size_t)1 << 33},
                               {(size_t)-2, (size_t)-3},
                               {SIZE_MAX, 2},
                               {2, SIZE_MAX},
                               {SIZE_MAX / 2 + 2, 2},
                               {(size_t)1 << 63, 2},
                               {PTRDIFF_MAX, 1}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; ++i) {
        errno = 0;
        expect(calloc(opaque_size(pairs[i][0]), opaque_size(pairs[i][1])) == NULL);
        expect(errno == ENOMEM);
    }
    char *p = calloc(opaque_size(100), 11);
    for (int i = 0; i < 1100; ++i) expect(p[i] == 0);
    free(p);
}
