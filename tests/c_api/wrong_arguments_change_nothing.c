#include "cache.h"

#include <unistd.h>

static void never(allot_tenant *tenant, enum allot_event event, uint64_t count, void *argument) {
    (void)tenant, (void)event, (void)count, (void)argument;
    exit(1);
}

int main(void) {
    allot_tenant *tenant = tenant_below(NULL, "tenant", "64K");
    char text[64];
    expect(allot_tenant_create(tenant, NULL) == NULL && errno == EINVAL);
    const char *paths[] = {NULL, "", "tenant", "/tenant/..", "/./tenant"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; ++i)
        expect(allot_tenant_open(paths[i]) == NULL && errno == EINVAL);
    expect(allot_tenant_set(tenant, NULL, "1") == -EINVAL);
    expect(allot_tenant_set(tenant, "memory.max", NULL) == -EINVAL);
    expect(allot_tenant_get(tenant, NULL, text, sizeof text) == -EINVAL);
    expect(allot_tenant_get(tenant, "memory.max", NULL, sizeof text) == -EINVAL);
    expect(allot_tenant_get(tenant, "memory.max", NULL, 0) == 6);

    unsigned oom = ALLOT_EVENT_BIT(allot_event_oom), unknown = ALLOT_EVENT_BIT(allot_nr_events);
    expect(allot_on_event(tenant, 0, never, NULL) == -EINVAL);
    expect(allot_on_event(tenant, oom | unknown, never, NULL) == -EINVAL);
    expect(allot_on_event(tenant, oom, NULL, NULL) == -EINVAL);
    expect(allot_event_fd(tenant, 0) == -EINVAL && allot_event_fd(tenant, oom | unknown) == -EINVAL);
    struct cache cache = {.tenant = tenant};
    expect(allot_shrinker_register(tenant, NULL, cache_scan, &cache) == -EINVAL);
    expect(allot_shrinker_register(tenant, cache_count, NULL, &cache) == -EINVAL);
    expect(allot_malloc_in(tenant, 100000) == NULL && cache.scans == 0); /* and nobody is told */

    /* Ids that never were, and one of the other kind, which lives on. */
    expect(allot_shrinker_unregister(0) == -ENOENT && allot_shrinker_unregister(-1) == -ENOENT);
    expect(allot_shrinker_unregister(1 << 20) == -ENOENT && allot_off_event(0) == -ENOENT);
    int id = allot_shrinker_register(tenant, cache_count, cache_scan, &cache);
    expect(id > 0 && allot_off_event(id) == -ENOENT && allot_shrinker_unregister(id) == 0);
    int ends[2];
    expect(pipe(ends) == 0);
    expect(allot_event_fd_close(-1) == -EBADF && allot_event_fd_close(ends[0]) == -EBADF);
    expect(close(ends[0]) == 0 && close(ends[1]) == 0); /* somebody else's stays open */

    /* Sizes beyond everything. */
    expect(allot_try_charge(tenant, SIZE_MAX) == -ENOMEM && allot_try_charge(NULL, SIZE_MAX) == -ENOMEM);
    expect(allot_malloc_in(tenant, SIZE_MAX) == NULL && errno == ENOMEM);
    expect(allot_try_charge(tenant, 0) == 0);
    allot_uncharge(tenant, 0);

    /* Inside a block, behind it, or what is freed already. */
    char *block = allot_malloc(1000), *freed = allot_malloc(1000), on_stack[32];
    allot_free(freed);
    expect(allot_transfer(block + 16, tenant) == -EINVAL && allot_transfer(block + 1, tenant) == -EINVAL);
    expect(allot_transfer(freed, tenant) == -EINVAL && allot_transfer(on_stack, tenant) == -EINVAL);
    expect(allot_owner_of(block) == allot_root());
    allot_free(block);
    expect(allot_tenant_current(tenant) == 0);
    expect(keyed(NULL, "memory.stat", "anomalies") == 0);
    return everything_adds_up();
}
