// 16 MiB: malloc is refused with ENOMEM when they are used up, never before, and serves again after a free.
#include "expect.h"

int main(void) {
    for (int round = 0; round < 3; ++round) {
        static void *blocks[20000];
        int count = 0;
        errno = 0;
        while (count < 20000 && (blocks[count] = malloc(1000)) != NULL) memset(blocks[count++], 1, 1000);
        expect(errno == ENOMEM);
        expect(count > 15000 && count < 16800);
        errno = 0;
        expect(malloc(opaque_size(1 << 20)) == NULL && errno == ENOMEM);
        while (count > 0) free(blocks[--count]);
        void *big = malloc(15 << 20);
        expect(big);
        expect(malloc(opaque_size(2 << 20)) == NULL);
        free(big);
    }
}
