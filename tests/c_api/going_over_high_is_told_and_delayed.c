#include "cache.h"

static void hear(allot_tenant *tenant, enum allot_event event, uint64_t count, void *argument) {
    (void)tenant, (void)event;
    *(uint64_t *)argument += count;
}

/* memory.high refuses nothing: caches give way, who listens is told, and with memory.throttle a delay passes. */
int main(void) {
    allot_tenant *tenant = tenant_below(NULL, "tenant", NULL);
    struct cache cache = {.tenant = tenant_below(tenant, "cache", NULL)};
    uint64_t highs = 0;
    expect(allot_tenant_set(tenant, "memory.high", "4M") == 0);
    expect(allot_on_event(tenant, ALLOT_EVENT_BIT(allot_event_high), hear, &highs) > 0);
    cache_fill(&cache, 3 << 20, 4096);
    expect(highs == 0);
    expect(allot_shrinker_register(cache.tenant, cache_count, cache_scan, &cache) > 0);
    void *first = allot_malloc_in(tenant, 2 << 20);
    expect(first != NULL && highs > 0);
    expect(cache.bytes <= 2 << 20);
    expect(allot_tenant_set(tenant, "memory.throttle", "1") == 0);
    void *second = allot_malloc_in(tenant, 3 << 20), *third = allot_malloc_in(tenant, 1 << 20);
    expect(second != NULL && third != NULL && cache.bytes == 0);
    expect(keyed(tenant, "memory.stat", "throttled_usec") > 100000);
    expect(keyed(tenant, "memory.stat", "throttled") == 0);
    expect(allot_tenant_set(tenant, "memory.throttle", "inherit") == 0);
    allot_free(first);
    allot_free(second);
    allot_free(third);
    return everything_adds_up();
}
