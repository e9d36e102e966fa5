#include "expect.h"

static void *cached[100];
static size_t count = 0;

static size_t held(void *argument) { return count * 10000; }
static size_t give(void *argument, size_t bytes) {
    size_t given = 0;
    for (; given < bytes && count != 0; given += 10000) allot_free(cached[--count]);
    return given;
}

int main(void) {
    allot_tenant *tenant = tenant_below(NULL, "tenant", NULL);
    for (; count < 100; ++count) expect((cached[count] = allot_malloc_in(tenant, 10000)) != NULL);
    expect(allot_shrinker_register(tenant, held, give, NULL) >= 0);
    uint64_t before = allot_tenant_current(tenant);
    expect(allot_tenant_set(tenant, "memory.reclaim", "300K") == 0);
    expect(allot_tenant_current(tenant) <= before - 300 * 1024);
    expect(allot_tenant_set(tenant, "memory.reclaim", "100M") == -EAGAIN); /* all that there was */
    expect(allot_tenant_current(tenant) == 0);
    expect(allot_tenant_set(tenant, "memory.reclaim", "much") == -EINVAL);
    return everything_adds_up();
}
