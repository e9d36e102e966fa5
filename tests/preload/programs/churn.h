// Threads that allocate and free without end, for programs that fork or are interrupted meanwhile.
#pragma once

#include "expect.h"
#include <pthread.h>
#include <stdatomic.h>

static atomic_int churn_ends;
static void *churn(void *seed) {
    void *kept[64] = {0};
    unsigned random = (unsigned)(uintptr_t)seed;
    while (!churn_ends) {
        random = random * 1103515245u + 12345u;
        void **slot = &kept[random >> 8 & 63];
        free(*slot);
        *slot = malloc((random >> 16 & 15) == 0 ? 300000 : random >> 16 & 4095);
    }
    for (int i = 0; i < 64; ++i) free(kept[i]);
    return NULL;
}
static pthread_t churn_threads[4];
static void churn_start(void) {
    for (uintptr_t i = 0; i < 4; ++i) expect(pthread_create(&churn_threads[i], NULL, churn, (void *)(i + 1)) == 0);
}
static void churn_stop(void) {
    churn_ends = 1;
    for (int i = 0; i < 4; ++i) expect(pthread_join(churn_threads[i], NULL) == 0);
}

// What a child does: every kind of size, and a thread of its own. It must end soon.
static void *small_work(void *unused) {
    for (size_t size = 1; size < 5000; size += 97) free(opaque(malloc(size)));
    return unused;
}
static inline void child_work(void) {
    alarm(20);
    void *blocks[200];
    for (size_t i = 0; i < 200; ++i) expect((blocks[i] = malloc(i * 53)) != NULL);
    for (size_t i = 0; i < 200; ++i) free(blocks[i]);
    free(opaque(malloc(2 << 20)));
}
