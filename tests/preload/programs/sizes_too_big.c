// Sizes beyond PTRDIFF_MAX, and those that wrap when they are rounded, are refused with ENOMEM by every function.
#include "expect.h"
#include <malloc.h>

#define refused(call)                                                                                                  \
    do {                                                                                                               \
        errno = 0;                                                                                                     \
        expect((call) == NULL);                                                                                        \
        expect(errno == ENOMEM);                                                                                       \
    } while (0)
int main(void) {
    void *old = malloc(100);
    for (size_t less = 0; less < 5000; less += less < 40 ? 1 : 97) {
        const size_t sizes[] = {SIZE_MAX - less, (size_t)PTRDIFF_MAX + 1 + less, (size_t)PTRDIFF_MAX - less};
        for (int i = 0; i < 3; ++i) {
            const size_t size = opaque_size(sizes[i]);
            refused(malloc(size));
            refused(calloc(1, size));
            refused(calloc(size, 1));
            refused(realloc(old, size));
            refused(realloc(opaque(NULL), size));
            refused(reallocarray(old, size, 1));
            refused(memalign(4096, size));
            refused(aligned_alloc(64, size));
            refused(valloc(size));
            refused(pvalloc(size));
            void *p = old;
            expect(posix_memalign(&p, 64, size) == ENOMEM && p == old);
        }
    }
    memset(old, 1, 100);
    free(old);
}
