#include "expect.h"

int main(void) {
    allot_tenant *a = tenant_below(NULL, "a", NULL), *b = tenant_below(NULL, "b", NULL);
    expect(allot_set_active(a) == allot_root());
    expect(allot_set_active(b) == a);
    expect(allot_set_active(a) == b);
    expect(allot_set_active(NULL) == a);
    void *block = allot_malloc(10);
    expect(allot_owner_of(block) == allot_root());
    allot_free(block);
    return everything_adds_up();
}
