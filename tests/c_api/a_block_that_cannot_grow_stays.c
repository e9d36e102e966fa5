#include "expect.h"

/* A realloc that is refused leaves the block with its contents and its owner; one that stays keeps its owner, one that
 * moves belongs to who asked, or as the flags say. */
int main(void) {
    allot_tenant *owner = tenant_below(NULL, "owner", NULL), *small = tenant_below(NULL, "small", "64K");
    const size_t sizes[] = {24, 3000, 40000, 400000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        char *block = allot_malloc_in(owner, sizes[i]);
        size_t usable = allot_usable_size(block);
        expect(usable >= sizes[i]);
        memset(block, 5, usable);
        (void)allot_set_active(small);
        errno = 0;
        if (sizes[i] <= 40000) { /* which moves, and does not fit there */
            expect(allot_realloc(block, 100000) == NULL && errno == ENOMEM);
            errno = 0;
            expect(allot_krealloc(block, 100000, ALLOT_NOWAIT) == NULL && errno == ENOMEM);
        }
        expect(allot_realloc(block, usable) == block); /* what fits where it is */
        expect(allot_owner_of(block) == owner && allot_usable_size(block) == usable);
        expect(allot_tenant_current(owner) == usable && allot_tenant_current(small) == 0);
        (void)allot_set_active(NULL);
        for (size_t byte = 0; byte < usable; ++byte) expect(block[byte] == 5);
        char *moved = allot_krealloc(block, 100 * sizes[i], ALLOT_KERNEL);
        expect(moved != NULL && allot_usable_size(moved) >= 100 * sizes[i]);
        for (size_t byte = 0; byte < usable; ++byte) expect(moved[byte] == 5);
        expect(allot_tenant_current(allot_owner_of(moved)) >= allot_usable_size(moved));
        allot_kfree(moved);
        expect(allot_tenant_current(owner) == 0);
    }
    (void)allot_set_active(small);
    void *block = allot_malloc(100), *spared = allot_krealloc(block, 100000, ALLOT_UNACCOUNTED);
    expect(spared != NULL && allot_owner_of(spared) == allot_root() && allot_tenant_current(small) == 0);
    allot_kfree(spared);
    (void)allot_set_active(NULL);
    return everything_adds_up();
}
