#include "expect.h"

static uint64_t peak_of(allot_tenant *tenant) {
    char text[32];
    expect(allot_tenant_get(tenant, "memory.peak", text, sizeof text) > 0);
    return strtoull(text, NULL, 10);
}

/* memory.peak: the highest usage so far, at each level; a write, whatever it says, begins it anew with the usage of now. */
int main(void) {
    allot_tenant *parent = tenant_below(NULL, "parent", NULL), *child = tenant_below(parent, "child", "1M");
    expect(peak_of(child) == 0);
    expect(allot_try_charge(child, 500000) == 0);
    allot_uncharge(child, 400000);
    expect(peak_of(child) == 500000 && peak_of(parent) == 500000);
    expect(allot_try_charge(child, 1000000) == -ENOMEM); /* what was refused was never used */
    expect(peak_of(child) == 500000 && peak_of(parent) == 500000);
    expect(allot_tenant_set(child, "memory.peak", "anything") == 0);
    expect(peak_of(child) == 100000 && peak_of(parent) == 500000);
    expect(allot_try_charge(child, 50000) == 0);
    allot_uncharge(child, 150000);
    expect(peak_of(child) == 150000);
    return everything_adds_up();
}
