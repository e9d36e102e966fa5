#include "expect.h"

/* How deep a tree is and how many tenants it has is bounded, and a refused one leaves nothing behind. */
int main(void) {
    allot_tenant *deepest = NULL;
    for (int depth = 1; depth <= ALLOT_TENANT_DEPTH_MAX; ++depth) deepest = tenant_below(deepest, "d", NULL);
    expect(allot_tenant_create(deepest, "e") == NULL && errno == ENOSPC);
    void *block = allot_malloc_in(deepest, 100);
    expect(allot_tenant_current(allot_tenant_open("/d")) == allot_usable_size(block));
    allot_free(block);

    allot_tenant *top = tenant_below(NULL, "top", NULL), *middle = tenant_below(top, "middle", NULL);
    expect(allot_tenant_set(top, "cgroup.max.descendants", "3") == 0);
    allot_tenant *a = tenant_below(middle, "a", NULL), *b = tenant_below(middle, "b", NULL);
    expect(allot_tenant_create(middle, "c") == NULL && errno == EAGAIN);
    expect(allot_tenant_create(top, "c") == NULL && errno == EAGAIN);
    expect(keyed(top, "cgroup.stat", "nr_descendants") == 3 && keyed(middle, "cgroup.stat", "nr_descendants") == 2);
    expect(allot_tenant_open("/top/middle/c") == NULL && errno == ENOENT);
    (void)tenant_below(NULL, "beside", NULL); /* it is nobody else's bound */
    expect(allot_tenant_destroy(a) == 0);
    (void)tenant_below(middle, "c", NULL);
    expect(allot_tenant_set(top, "cgroup.max.descendants", "1") == 0); /* those that are there stay */
    expect(keyed(top, "cgroup.stat", "nr_descendants") == 3);
    expect(allot_tenant_destroy(b) == 0);
    expect(allot_tenant_create(top, "d") == NULL && errno == EAGAIN);
    return everything_adds_up();
}
