// As glibc from 2.38: an alignment that is no power of two is EINVAL. A size that is no multiple is accepted.
#include "expect.h"

int main(void) {
    const size_t bad[] = {0, 3, 6, 100, SIZE_MAX};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        errno = 0;
        expect(aligned_alloc(opaque_size(bad[i]), 10) == NULL && errno == EINVAL);
    }
    for (size_t good = 1; good <= 65536; good *= 2) {
        void *p = aligned_alloc(opaque_size(good), 10);
        expect(p && (uintptr_t)p % good == 0);
        free(p);
    }
}
