// 16 MiB: mappings count as soon as they are writable, reservations do not, and all comes back.
#include "expect.h"
#include <sys/mman.h>

enum { mib = 1 << 20, writable = PROT_READ | PROT_WRITE };
static void *map(size_t bytes, int protection) {
    return mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
int main(void) {
    for (int round = 0; round < 3; ++round) {
        char *p = map(10 * mib, writable);
        expect(p != MAP_FAILED);
        errno = 0;
        expect(map(10 * mib, writable) == MAP_FAILED && errno == ENOMEM);
        expect(malloc(opaque_size(10 * mib)) == NULL);
        char *reserved = map((size_t)1 << 36, PROT_NONE);
        expect(reserved != MAP_FAILED);
        expect(mprotect(reserved, 4 * mib, writable) == 0);
        reserved[4 * mib - 1] = 1;
        errno = 0;
        expect(mprotect(reserved + 4 * mib, 4 * mib, writable) == -1 && errno == ENOMEM);
        expect(munmap(p + 5 * mib, 5 * mib) == 0);
        expect(mprotect(reserved + 4 * mib, 4 * mib, writable) == 0);
        expect(munmap(reserved, (size_t)1 << 36) == 0);
        errno = 0;
        expect(mremap(p, 5 * mib, 30 * mib, MREMAP_MAYMOVE) == MAP_FAILED && errno == ENOMEM);
        p = mremap(p, 5 * mib, 15 * mib, MREMAP_MAYMOVE);
        expect(p != MAP_FAILED);
        p[15 * mib - 1] = 1;
        expect(munmap(p, 15 * mib) == 0);
    }
}
