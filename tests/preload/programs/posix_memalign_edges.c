// A bad alignment is EINVAL; the pointer and errno are left alone.
#include "expect.h"

int main(void) {
    const size_t bad[] = {0, 1, 2, 3, 4, 6, 7, 9, 12, 24, 100, SIZE_MAX};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        void *p = (void *)0x1234;
        errno = 42;
        expect(posix_memalign(&p, opaque_size(bad[i]), 10) == EINVAL);
        expect(p == (void *)0x1234 && errno == 42);
    }
    void *p = (void *)0x1234;
    expect(posix_memalign(&p, 64, opaque_size(SIZE_MAX - 32)) == ENOMEM && p == (void *)0x1234);
    expect(posix_memalign(&p, (size_t)1 << 62, 1) == ENOMEM && p == (void *)0x1234);
}
