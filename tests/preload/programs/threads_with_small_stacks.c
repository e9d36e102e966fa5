// Threads with the smallest stack there may be, 16 KiB, go through every slow path once.
#include "expect.h"
#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>

static void *run(void *unused) {
    for (size_t size = 1; size < 40u << 20; size = size * 5 / 3 + 1) {
        char *p = malloc(size);
        expect(p);
        p[size - 1] = 1;
        p = realloc(p, size * 2);
        expect(p);
        free(p);
        free(opaque(aligned_alloc(4096, 8192)));
    }
    void *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    expect(munmap(map, 4096) == 0);
    return unused;
}
int main(void) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    expect(pthread_attr_setstacksize(&attributes, 16384) == 0);
    for (int i = 0; i < 20; ++i) {
        pthread_t thread;
        expect(pthread_create(&thread, &attributes, run, NULL) == 0);
        expect(pthread_join(thread, NULL) == 0);
    }
}
