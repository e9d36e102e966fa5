#include "expect.h"

int main(void) {
    allot_tenant *tenant = tenant_below(NULL, "tenant", "1M");
    expect(allot_try_charge(tenant, 600000) == 0);
    expect(allot_try_charge(tenant, 600000) == -ENOMEM);
    expect(allot_tenant_current(tenant) == 600000);
    expect(keyed(tenant, "memory.stat", "external") == 600000);
    allot_uncharge(tenant, 600000);
    allot_uncharge(tenant, 1); /* more than was charged: cut */
    expect(allot_tenant_current(tenant) == 0);
    return everything_adds_up();
}
