#include "expect.h"

int main(void) {
    allot_tenant *parent = tenant_below(NULL, "parent", NULL), *child = tenant_below(parent, "child", NULL);
    void *block = allot_malloc_in(child, 1000);
    expect(allot_tenant_destroy(parent) == -EBUSY);
    expect(allot_tenant_destroy(allot_root()) == -EBUSY);
    expect(allot_tenant_destroy(child) == 0);
    expect(allot_tenant_destroy(child) == -ESTALE);
    expect(allot_owner_of(block) == parent);
    expect(allot_tenant_current(parent) == allot_usable_size(block));
    expect(allot_tenant_current(child) == 0);
    allot_free(block);
    expect(allot_tenant_current(parent) == 0);
    return everything_adds_up();
}
