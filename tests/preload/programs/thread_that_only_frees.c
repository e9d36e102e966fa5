// One thread frees what four others allocate; memory must not pile up with it.
#include "expect.h"
#include <malloc.h>
#include <pthread.h>

enum { producers = 4, slots = 256, rounds = 1000 };
static void *volatile ring[producers][slots];
static long resident_kib(void) {
    FILE *file = fopen("/proc/self/statm", "r");
    long size, resident;
    expect(fscanf(file, "%ld %ld", &size, &resident) == 2);
    fclose(file);
    return resident * 4;
}
static void *produce(void *index) {
    void *volatile *mine = ring[(uintptr_t)index];
    for (int round = 0; round < rounds; ++round)
        for (int i = 0; i < slots; ++i) {
            while (__atomic_load_n(&mine[i], __ATOMIC_ACQUIRE)) sched_yield();
            char *p = malloc(1000);
            p[0] = 1;
            __atomic_store_n(&mine[i], p, __ATOMIC_RELEASE);
        }
    return NULL;
}
static void *only_free(void *unused) {
    for (long left = (long)producers * slots * rounds; left > 0;) {
        const long before = left;
        for (int p = 0; p < producers; ++p)
            for (int i = 0; i < slots; ++i) {
                void *block = __atomic_exchange_n(&ring[p][i], NULL, __ATOMIC_ACQ_REL);
                if (block) {
                    free(block);
                    --left;
                }
            }
        if (left == before) sched_yield();
    }
    return unused;
}
int main(void) {
    pthread_t threads[producers + 1];
    expect(pthread_create(&threads[producers], NULL, only_free, NULL) == 0);
    for (uintptr_t i = 0; i < producers; ++i) expect(pthread_create(&threads[i], NULL, produce, (void *)i) == 0);
    for (int i = 0; i <= producers; ++i) expect(pthread_join(threads[i], NULL) == 0);
    expect(resident_kib() < 64 * 1024); // a gigabyte has passed through
}
