#include "expect.h"

int main(void) {
    allot_tenant *tenant = tenant_below(NULL, "tenant", "64M");
    char text[64];
    expect(allot_tenant_get(tenant, "memory.max", text, sizeof text) == 9 && strcmp(text, "67108864\n") == 0);
    expect(allot_tenant_get(tenant, "memory.max", text, 4) == 9 && strcmp(text, "671") == 0); /* cut, terminated */
    expect(allot_tenant_get(tenant, "memory.max", NULL, 0) == 9);
    expect(allot_tenant_set(tenant, "memory.max", "5MB") == -EINVAL);
    expect(allot_tenant_get(tenant, "memory.max", text, sizeof text) == 9 && strcmp(text, "67108864\n") == 0);
    expect(allot_tenant_set(tenant, "memory.max", "max") == 0);
    expect(allot_tenant_get(tenant, "memory.max", text, sizeof text) == 4 && strcmp(text, "max\n") == 0);
    expect(allot_tenant_set(tenant, "memory.none", "1") == -ENOENT);
    expect(allot_tenant_get(tenant, "memory.none", text, sizeof text) == -ENOENT);
    expect(allot_tenant_set(tenant, "memory.current", "1") == -EACCES);
    expect(allot_tenant_set(tenant, NULL, "1") == -EINVAL);
    expect(allot_tenant_destroy(tenant) == 0);
    expect(allot_tenant_set(tenant, "memory.max", "1M") == -ESTALE);
    return everything_adds_up();
}
