#include "expect.h"

int main(void) {
    allot_tenant *tenant = tenant_below(NULL, "tenant", NULL);
    allot_set_active(tenant);
    expect(allot_tenant_set(tenant, "memory.fail", "3") == 0);
    void *blocks[5];
    for (size_t i = 0; i < 5; ++i) blocks[i] = allot_malloc(100);
    expect(blocks[0] && blocks[1] && !blocks[2] && blocks[3] && blocks[4]);
    for (size_t i = 0; i < 5; ++i) allot_free(blocks[i]);
    expect(allot_tenant_set(tenant, "memory.fail", "above 1M") == 0);
    expect(allot_malloc(2000000) == NULL && errno == ENOMEM);
    expect(allot_try_charge(tenant, 2000000) == -ENOMEM);
    void *small = allot_malloc(1000);
    expect(small != NULL);
    char *grown = allot_realloc(small, 3000000);
    expect(grown == NULL);
    allot_free(small);
    expect(allot_tenant_set(tenant, "memory.fail", "none") == 0);
    void *large = allot_malloc(2000000);
    expect(large != NULL);
    allot_free(large);
    expect(keyed(tenant, "memory.stat", "injected") == 4);
    expect(keyed(tenant, "memory.events", "oom") == 0); /* no limit refused anything */
    expect(allot_tenant_set(tenant, "memory.fail", "sometimes") == -EINVAL);
    allot_set_active(NULL);
    return everything_adds_up();
}
