#include "expect.h"

int main(void) {
    allot_tenant *tenant = tenant_below(NULL, "tenant", NULL);
    allot_set_active(tenant);
    unsigned char *dirty = allot_kmalloc(200, ALLOT_KERNEL);
    memset(dirty, 1, 200);
    allot_kfree(dirty);
    unsigned char *zeroed[] = {allot_kzalloc(200, ALLOT_KERNEL), allot_kcalloc(2, 100, ALLOT_KERNEL),
                               allot_kmalloc(200, ALLOT_ZERO)};
    for (size_t i = 0; i < 3; ++i) {
        for (size_t byte = 0; byte < 200; ++byte) expect(zeroed[i][byte] == 0);
        expect(allot_ksize(zeroed[i]) >= 200);
        expect(allot_owner_of(zeroed[i]) == tenant);
        allot_kfree(zeroed[i]);
    }
    dirty = allot_kmalloc(200, ALLOT_KERNEL);
    memset(dirty, 1, 200);
    allot_kfree(dirty);
    unsigned char *fresh = allot_krealloc(NULL, 200, ALLOT_ZERO); /* allocates, as the flags say */
    for (size_t byte = 0; byte < 200; ++byte) expect(fresh[byte] == 0);
    allot_kfree(fresh);
    void *spared = allot_kmalloc(200, ALLOT_UNACCOUNTED);
    expect(allot_owner_of(spared) == allot_root());
    spared = allot_krealloc(spared, 5000, ALLOT_UNACCOUNTED);
    expect(allot_owner_of(spared) == allot_root());
    expect(allot_tenant_current(tenant) == 0);
    allot_kfree(spared);
    allot_set_active(NULL);
    return everything_adds_up();
}
