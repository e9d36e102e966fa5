#include "expect.h"

int main(void) {
    allot_tenant *mine = tenant_below(NULL, "mine", NULL), *other = tenant_below(NULL, "other", "64K");
    allot_set_active(mine);
    void *block = allot_malloc_in(other, 1000);
    expect(allot_owner_of(block) == other);
    expect(allot_malloc_in(other, 65536) == NULL && errno == ENOMEM);
    expect(allot_set_active(mine) == mine);
    void *roots = allot_malloc_in(NULL, 10);
    expect(allot_owner_of(roots) == allot_root());
    expect(allot_owner_of(NULL) == NULL);
    allot_tenant *gone = tenant_below(mine, "gone", NULL);
    expect(allot_tenant_destroy(gone) == 0);
    expect(allot_malloc_in(gone, 10) == NULL && errno == ESTALE); /* not at the expense of whoever comes next */
    expect(allot_set_active(mine) == mine);
    allot_free(block);
    allot_free(roots);
    expect(allot_tenant_current(other) == 0);
    allot_set_active(NULL);
    return everything_adds_up();
}
