#include "expect.h"

int main(void) {
    allot_tenant *tenant = tenant_below(NULL, "tenant", "64K");
    expect(allot_tenant_set(tenant, "memory.headroom", "16K") == 0);
    allot_set_active(tenant);
    void *all = allot_malloc(65536);
    expect(all != NULL);
    expect(allot_malloc(5000) == NULL); /* never for the refused request itself */
    void *small = allot_malloc(1000);   /* from then on, for small ones */
    expect(small != NULL);
    expect(allot_tenant_current(tenant) == 65536 + allot_usable_size(small));
    expect(allot_malloc(8000) == NULL);
    allot_emergency_begin();
    void *bigger = allot_malloc(8000); /* inside such a scope, for any */
    expect(bigger != NULL);
    expect(allot_malloc(16384) == NULL);
    allot_emergency_end();
    expect(keyed(tenant, "memory.stat", "headroom") >= 2);
    allot_free(bigger);
    allot_free(small);
    allot_free(all);
    all = allot_malloc(40000); /* it fits again: the next refusal begins anew */
    expect(all != NULL);
    allot_free(all);
    allot_set_active(NULL);
    expect(allot_tenant_current(tenant) == 0);
    return everything_adds_up();
}
