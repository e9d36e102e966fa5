#include "expect.h"

int main(void) {
    allot_tenant *request = tenant_below(NULL, "request", "64M"), *child = tenant_below(request, "child", NULL);
    void *of_child = allot_malloc_in(child, 100);
    for (int round = 0; round < 5; ++round) {
        allot_set_active(request);
        for (int i = 0; i < 2000; ++i) expect(allot_malloc(1 + (size_t)i % 700) != NULL);
        expect(allot_malloc(5000000) != NULL);
        allot_set_active(NULL);
        expect(allot_try_charge(request, 4096) == 0);
        expect(allot_tenant_reset(request) == 0); /* what it leaked goes with it */
        expect(allot_tenant_current(request) == 4096 + allot_usable_size(of_child));
        allot_uncharge(request, 4096);
    }
    expect(allot_tenant_reset(NULL) == -EINVAL);
    expect(allot_tenant_reset(child) == 0);
    expect(allot_tenant_current(request) == 0);
    expect(allot_tenant_destroy(child) == 0);
    expect(allot_tenant_reset(child) == -ESTALE);
    return everything_adds_up();
}
