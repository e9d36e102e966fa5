// Two tenants in one process that knows nothing of tenants: what each of two threads may use is set from outside, by the
// threads' names.
//
//   allot run --tenant /shop --tree shop.toml --map thread:noisy=/shop/noisy --map thread:quiet=/shop/quiet -- noisy_neighbour
//
// The noisy thread allocates until it has been refused a thousand times, and holds what it has for some rounds of its
// neighbour, which allocates and frees 16 MiB again and again and counts how often it is refused. Both then say what they
// met.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    block_bytes = 16 * 1024,
    quiet_blocks = 1024,
    refusals_wanted = 1000,
    noisy_blocks_max = 1 << 14,
    rounds_min = 20,
    rounds_held = 5
};

static atomic_int noisy_is_done;
static atomic_int quiet_rounds;

struct result {
    size_t bytes_max; // held at once
    size_t refusals;
};

static void *noisy(void *argument) {
    struct result *result = argument;
    pthread_setname_np(pthread_self(), "noisy");
    static void *blocks[noisy_blocks_max];
    size_t held = 0;
    while (result->refusals < refusals_wanted && held < noisy_blocks_max) {
        void *block = malloc(block_bytes);
        if (block == NULL) {
            result->refusals++;
            continue;
        }
        memset(block, 1, block_bytes);
        blocks[held++] = block;
    }
    result->bytes_max = held * block_bytes;
    const int rounds_then = atomic_load(&quiet_rounds);
    while (atomic_load(&quiet_rounds) < rounds_then + rounds_held) sched_yield();
    while (held > 0) free(blocks[--held]);
    atomic_store(&noisy_is_done, 1);
    return NULL;
}

static void *quiet(void *argument) {
    struct result *result = argument;
    pthread_setname_np(pthread_self(), "quiet");
    static void *blocks[quiet_blocks];
    for (int round = 0; round < rounds_min || !atomic_load(&noisy_is_done); round++) {
        size_t bytes = 0;
        for (int i = 0; i < quiet_blocks; i++) {
            blocks[i] = malloc(block_bytes);
            if (blocks[i] == NULL) {
                result->refusals++;
                continue;
            }
            memset(blocks[i], 2, block_bytes);
            bytes += block_bytes;
        }
        if (bytes > result->bytes_max) result->bytes_max = bytes;
        for (int i = 0; i < quiet_blocks; i++) free(blocks[i]);
        atomic_fetch_add(&quiet_rounds, 1);
    }
    return NULL;
}

int main(void) {
    struct result results[2] = {{0, 0}, {0, 0}};
    pthread_t threads[2];
    if (pthread_create(&threads[0], NULL, quiet, &results[0]) != 0) return 1;
    if (pthread_create(&threads[1], NULL, noisy, &results[1]) != 0) return 1;
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    printf("noisy: %zu bytes at most, %zu refusals\n", results[1].bytes_max, results[1].refusals);
    printf("quiet: %zu bytes at most, %zu refusals\n", results[0].bytes_max, results[0].refusals);
    return 0;
}
