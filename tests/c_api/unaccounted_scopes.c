#include "expect.h"

int main(void) {
    allot_tenant *tenant = tenant_below(NULL, "tenant", NULL);
    allot_set_active(tenant);
    allot_unaccounted_begin();
    allot_unaccounted_begin();
    allot_unaccounted_end();
    void *spared = allot_malloc(100);
    allot_unaccounted_end();
    void *paid = allot_malloc(100);
    expect(allot_owner_of(spared) == allot_root());
    expect(allot_owner_of(paid) == tenant);
    allot_free(spared);
    allot_free(paid);
    allot_set_active(NULL);
    return everything_adds_up();
}
