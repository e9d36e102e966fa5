#include "expect.h"

int main(void) {
    allot_tenant *session = tenant_below(NULL, "session", NULL), *cache = tenant_below(NULL, "cache", "128K");
    size_t sizes[] = {24, 3000, 70000};
    for (size_t i = 0; i < 3; ++i) {
        char *block = allot_malloc_in(session, sizes[i]);
        memset(block, 7, sizes[i]);
        expect(allot_transfer(block, cache) == 0);
        expect(allot_owner_of(block) == cache);
        expect(allot_tenant_current(session) == 0);
        expect(allot_tenant_current(cache) == allot_usable_size(block));
        expect(block[0] == 7 && block[sizes[i] - 1] == 7);
        allot_free(block);
        expect(allot_tenant_current(cache) == 0);
    }
    void *big = allot_malloc_in(session, 1000000);
    expect(allot_transfer(big, cache) == -ENOMEM);
    expect(allot_owner_of(big) == session);
    expect(allot_transfer(NULL, cache) == -EINVAL);
    expect(allot_transfer(&big, cache) == -EINVAL);
    expect(allot_tenant_destroy(cache) == 0);
    expect(allot_transfer(big, cache) == -ESTALE);
    expect(allot_transfer(big, NULL) == 0 && allot_owner_of(big) == allot_root());
    allot_free(big);
    return everything_adds_up();
}
