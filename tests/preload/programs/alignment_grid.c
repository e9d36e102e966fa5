// Every alignment with every size around it: aligned, apart from each other, writable to the last byte.
#include "expect.h"
#include <malloc.h>

int main(void) {
    for (size_t alignment = 8; alignment <= 4u << 20; alignment *= 2) {
        const size_t sizes[] = {0,   1,   alignment / 2 + 1, alignment - 1, alignment, alignment + 1, alignment * 2,
                                100, 5000};
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
            char *blocks[3];
            for (int n = 0; n < 3; ++n) {
                void *p = NULL;
                expect(posix_memalign(&p, alignment, sizes[i]) == 0);
                expect((uintptr_t)p % alignment == 0);
                expect(malloc_usable_size(p) >= sizes[i]);
                memset(p, n + 1, sizes[i]);
                blocks[n] = p;
            }
            for (int n = 0; n < 3; ++n)
                for (size_t at = 0; at < sizes[i]; at += at < 64 ? 1 : 61) expect(blocks[n][at] == n + 1);
            for (int n = 0; n < 3; ++n) free(blocks[n]);
        }
    }
}
