#include "expect.h"

int main(void) {
    allot_tenant *tenant = tenant_below(NULL, "tenant", NULL);
    allot_tenant *before = allot_set_active(tenant);
    void *blocks[500];
    uint64_t sum = 0;
    for (size_t i = 0; i < 500; ++i) {
        blocks[i] = i % 100 == 99 ? allot_malloc(2000000) : allot_malloc(1 + 37 * i);
        expect(blocks[i] != NULL);
        sum += allot_usable_size(blocks[i]);
        expect(allot_tenant_current(tenant) == sum);
    }
    expect(keyed(tenant, "memory.stat", "slab") + keyed(tenant, "memory.stat", "large") == sum);
    for (size_t i = 0; i < 500; ++i) {
        sum -= allot_usable_size(blocks[i]);
        allot_free(blocks[i]);
        expect(allot_tenant_current(tenant) == sum);
    }
    expect(allot_set_active(before) == tenant);
    return everything_adds_up();
}
