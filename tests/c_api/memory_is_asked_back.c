#include "cache.h"

/* memory.reclaim takes from caches, and says whether it was enough; a lowered limit does the same. */
int main(void) {
    struct cache cache = {.tenant = tenant_below(NULL, "tenant", NULL)};
    cache_fill(&cache, 4 << 20, 1024);
    expect(allot_shrinker_register(cache.tenant, cache_count, cache_scan, &cache) > 0);
    uint64_t before = allot_tenant_current(cache.tenant);
    expect(allot_tenant_set(cache.tenant, "memory.reclaim", "1M swappiness=60") == 0);
    expect(before - allot_tenant_current(cache.tenant) >= 1 << 20);
    expect(before - allot_tenant_current(cache.tenant) <= (1 << 20) + 4096);
    expect(allot_tenant_set(cache.tenant, "memory.reclaim", "all") == -EINVAL);
    expect(allot_tenant_set(cache.tenant, "memory.high", "2M") == 0);
    expect(allot_tenant_current(cache.tenant) <= 2 << 20);
    expect(allot_tenant_set(cache.tenant, "memory.max", "1M") == 0);
    expect(allot_tenant_current(cache.tenant) <= 1 << 20 && cache.bytes > 0);
    expect(allot_tenant_set(cache.tenant, "memory.reclaim", "1G") == -EAGAIN);
    expect(cache.bytes == 0 && allot_tenant_current(cache.tenant) == 0);
    return everything_adds_up();
}
