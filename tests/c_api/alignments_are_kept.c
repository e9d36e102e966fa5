#include "expect.h"

/* Any power of two; what is charged is what may be used. */
int main(void) {
    allot_tenant *tenant = tenant_below(NULL, "tenant", NULL);
    allot_set_active(tenant);
    const size_t sizes[] = {0, 1, 100, 5000, 70000, 1000000};
    for (size_t alignment = 1; alignment <= 1u << 22; alignment *= 2)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
            char *block = allot_aligned_alloc(alignment, sizes[i]);
            expect(block != NULL && (uintptr_t)block % alignment == 0);
            expect(allot_usable_size(block) >= sizes[i]);
            expect(allot_tenant_current(tenant) == allot_usable_size(block));
            memset(block, 1, sizes[i]);
            allot_free(block);
            expect(allot_tenant_current(tenant) == 0);
        }
    const size_t wrong[] = {0, 3, 24, SIZE_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        errno = 0;
        expect(allot_aligned_alloc(wrong[i], 100) == NULL && errno == EINVAL);
    }
    expect(allot_aligned_alloc(64, SIZE_MAX) == NULL && errno == ENOMEM);
    allot_set_active(NULL);
    return everything_adds_up();
}
