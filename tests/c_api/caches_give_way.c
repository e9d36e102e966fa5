#include "cache.h"

/* What does not fit below a limit is made room for by a cache below it; the allocation that asked never notices. */
static void for_blocks_of(size_t size, unsigned number, size_t cached) {
    allot_tenant *limited = tenant_below(NULL, "limited", "8M");
    struct cache cache = {.tenant = tenant_below(limited, "cache", NULL)};
    allot_tenant *user = tenant_below(limited, "user", NULL);
    cache_fill(&cache, cached, 4096);
    int id = allot_shrinker_register(cache.tenant, cache_count, cache_scan, &cache);
    expect(id > 0);
    void *blocks[4096];
    allot_tenant *before = allot_set_active(user);
    for (unsigned i = 0; i < number; ++i) {
        blocks[i] = allot_malloc(size);
        expect(blocks[i] != NULL);
    }
    allot_set_active(before);
    expect(cache.scans > 0);
    expect(cache.bytes <= (8u << 20) - number * size);
    expect(keyed(limited, "memory.events", "oom") == 0);
    expect(keyed(cache.tenant, "memory.stat", "reclaimed") > 0);
    expect(allot_tenant_current(cache.tenant) == cache.bytes);
    for (unsigned i = 0; i < number; ++i) allot_free(blocks[i]);
    expect(allot_shrinker_unregister(id) == 0);
    expect(allot_shrinker_unregister(id) == -ESTALE);
    cache_scan(&cache, SIZE_MAX);
    expect(allot_tenant_current(limited) == 0);
    expect(allot_tenant_destroy(user) == 0);
    expect(allot_tenant_destroy(cache.tenant) == 0);
    expect(allot_tenant_destroy(limited) == 0);
}

int main(void) {
    for_blocks_of(2048, 2048, 7 << 20);
    for_blocks_of(48, 4096, (8 << 20) - 65536);
    for_blocks_of(1 << 20, 6, 7 << 20);
    return everything_adds_up();
}
