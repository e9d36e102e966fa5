#include "expect.h"

int main(void) {
    allot_tenant *tenant = tenant_below(NULL, "tenant", "1M");
    expect(allot_try_charge(tenant, 600000) == 0);
    expect(allot_try_charge(tenant, 600000) == -ENOMEM);
    expect(allot_tenant_current(tenant) == 600000);
    expect(keyed(tenant, "memory.stat", "external") == 600000);
    allot_uncharge(tenant, 600000);
    uint64_t mistakes = keyed(NULL, "memory.stat", "anomalies");
    allot_uncharge(tenant, 1); /* more than was charged: cut */
    expect(keyed(NULL, "memory.stat", "anomalies") == mistakes + 1);
    expect(allot_tenant_current(tenant) == 0);
    /* What is out when a tenant goes is its parent's, and the handle still gives it back, whoever was made since. */
    allot_tenant *child = tenant_below(tenant, "child", NULL);
    expect(allot_try_charge(child, 1000) == 0);
    expect(allot_tenant_destroy(child) == 0);
    expect(allot_try_charge(child, 1000) == -ESTALE);
    (void)tenant_below(NULL, "next", NULL);
    expect(allot_tenant_current(tenant) == 1000);
    allot_uncharge(child, 1000);
    expect(allot_tenant_current(tenant) == 0);
    return everything_adds_up();
}
