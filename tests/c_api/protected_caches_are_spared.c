#include "cache.h"

/* memory.min is never taken, memory.low only when nothing else is left. */
int main(void) {
    allot_tenant *limited = tenant_below(NULL, "limited", "24M");
    struct cache kept = {.tenant = tenant_below(limited, "kept", NULL)};
    struct cache low = {.tenant = tenant_below(limited, "low", NULL)};
    struct cache open = {.tenant = tenant_below(limited, "open", NULL)};
    expect(allot_tenant_set(kept.tenant, "memory.min", "8M") == 0);
    expect(allot_tenant_set(low.tenant, "memory.low", "8M") == 0);
    struct cache *all[] = {&kept, &low, &open};
    for (int i = 0; i < 3; ++i) {
        cache_fill(all[i], 6 << 20, 8192);
        expect(allot_shrinker_register(all[i]->tenant, cache_count, cache_scan, all[i]) > 0);
    }
    allot_tenant *user = tenant_below(limited, "user", NULL);
    void *blocks[16];
    int n = 0;
    for (; n < 11; ++n) expect((blocks[n] = allot_malloc_in(user, 1 << 20)) != NULL);
    expect(open.bytes < 2 << 20);
    expect(kept.scans == 0 && low.scans == 0);
    for (; n < 16; ++n) expect((blocks[n] = allot_malloc_in(user, 1 << 20)) != NULL);
    expect(kept.scans == 0 && low.scans > 0);
    expect(keyed(low.tenant, "memory.events", "low") > 0);
    expect(allot_malloc_in(user, 8 << 20) == NULL);
    expect(kept.scans == 0);
    /* Aimed at itself, a tenant is not protected. */
    expect(allot_tenant_set(kept.tenant, "memory.reclaim", "1M") == 0);
    expect(kept.scans > 0);
    while (n-- > 0) allot_free(blocks[n]);
    for (int i = 0; i < 3; ++i) cache_scan(all[i], SIZE_MAX);
    return everything_adds_up();
}
