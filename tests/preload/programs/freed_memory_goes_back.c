// What a program frees is the system's again a second later, at the next use of memory: blocks of all sizes, also the last
// of each size, in whose place the next one would be.
#include "expect.h"
#include <time.h>

static size_t resident_bytes(void) {
    FILE *file = fopen("/proc/self/statm", "r");
    expect(file != NULL);
    unsigned long all, resident;
    expect(fscanf(file, "%lu %lu", &all, &resident) == 2);
    fclose(file);
    return resident * 4096;
}

int main(void) {
    enum { mib = 1 << 20, per_size = 3 * mib };
    size_t before = resident_bytes();
    static void *blocks[1 << 18];
    size_t count = 0;
    for (size_t size = 48; size < 8 * mib; size = size * 3 / 2)
        for (size_t i = 0; i * size < per_size; ++i) {
            blocks[count] = opaque(malloc(size));
            expect(blocks[count] != NULL);
            memset(blocks[count++], 1, size);
        }
    size_t full = resident_bytes();
    expect(full > before + 60 * mib);
    for (size_t i = 0; i < count; ++i) free(blocks[i]);
    struct timespec delay = {1, 300000000};
    nanosleep(&delay, NULL);
    for (int i = 0; i < 4; ++i) { // a slab of a size that has none, and a large block
        void *small = opaque(malloc(40 - 16 * (size_t)(i & 1)));
        free(opaque(malloc(mib)));
        (void)small;
    }
    size_t after = resident_bytes();
    if (after > before + 8 * mib) fprintf(stderr, "before %zu, full %zu, after %zu\n", before, full, after);
    expect(after <= before + 8 * mib);
}
