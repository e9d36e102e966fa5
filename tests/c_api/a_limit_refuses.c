#include "expect.h"

int main(void) {
    allot_tenant *parent = tenant_below(NULL, "parent", "1M"), *child = tenant_below(parent, "child", NULL);
    allot_set_active(child);
    static void *blocks[1024];
    size_t count = 0;
    while ((blocks[count] = allot_malloc(10000)) != NULL) ++count;
    expect(errno == ENOMEM);
    expect(count == 1048576 / allot_usable_size(blocks[0])); /* not one less: what fits is not refused */
    expect(keyed(parent, "memory.events", "oom") == 1);
    expect(keyed(child, "memory.events", "oom") == 0); /* it was the parent that had no room */
    allot_free(blocks[--count]);
    blocks[count] = allot_malloc(10000);
    expect(blocks[count] != NULL);
    for (size_t i = 0; i <= count; ++i) allot_free(blocks[i]);
    allot_set_active(NULL);
    expect(allot_tenant_current(parent) == 0);
    return everything_adds_up();
}
