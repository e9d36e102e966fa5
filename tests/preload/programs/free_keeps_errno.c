// free changes errno never: small, large, aligned, of another thread, of nothing.
#include "expect.h"
#include <malloc.h>
#include <pthread.h>

static void *allocate(void *size) { return malloc((size_t)size); }
int main(void) {
    for (size_t size = 1; size < 128u << 20; size *= 2) {
        void *blocks[] = {malloc(size), calloc(1, size), aligned_alloc(4096, size < 4096 ? 4096 : size), valloc(size)};
        void *other;
        pthread_t thread;
        expect(pthread_create(&thread, NULL, allocate, (void *)size) == 0 && pthread_join(thread, &other) == 0);
        errno = 42;
        for (int i = 0; i < 4; ++i) free(blocks[i]);
        free(other);
        free(opaque(NULL));
        expect(errno == 42);
    }
}
