#include "expect.h"

/* Flags that are none, or that exclude each other: EINVAL from every function that takes some, and nothing has happened. */
int main(void) {
    allot_tenant *tenant = tenant_below(NULL, "tenant", NULL);
    allot_kmem_cache *cache = allot_kmem_cache_create("cache", 100, 0, ALLOT_CACHE_DEFAULT, NULL);
    allot_kmem_cache *aligned = allot_kmem_cache_create("aligned", 100, 256, ALLOT_CACHE_DEFAULT, NULL);
    char *block = allot_malloc_in(tenant, 100);
    strcpy(block, "text");
    allot_set_active(tenant);
    uint64_t before = allot_tenant_current(tenant);
    const allot_gfp wrong[] = {(allot_gfp)(1 << 5),
                               (allot_gfp)-1,
                               ALLOT_GFP_NONE,
                               ALLOT_NOFAIL | ALLOT_ATOMIC,
                               ALLOT_NOFAIL | ALLOT_NOWAIT,
                               ALLOT_ATOMIC | ALLOT_NOWAIT,
                               ALLOT_ZERO | (allot_gfp)(1 << 10)};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        void *objects[3] = {NULL, NULL, NULL};
        errno = 0;
        expect(allot_kmalloc(10, wrong[i]) == NULL && errno == EINVAL);
        errno = 0;
        expect(allot_kzalloc(10, wrong[i]) == NULL && errno == EINVAL);
        errno = 0;
        expect(allot_kcalloc(2, 10, wrong[i]) == NULL && errno == EINVAL);
        errno = 0;
        expect(allot_krealloc(NULL, 10, wrong[i]) == NULL && errno == EINVAL);
        errno = 0;
        expect(allot_krealloc(block, 100000, wrong[i]) == NULL && errno == EINVAL && strcmp(block, "text") == 0);
        errno = 0;
        expect(allot_kmem_cache_alloc(cache, wrong[i]) == NULL && errno == EINVAL);
        errno = 0;
        expect(allot_kmem_cache_alloc(aligned, wrong[i]) == NULL && errno == EINVAL);
        errno = 0;
        expect(allot_kmem_cache_alloc_bulk(cache, wrong[i], 3, objects) == 0 && errno == EINVAL);
    }
    expect(allot_kcalloc(SIZE_MAX / 2, 3, ALLOT_KERNEL) == NULL && errno == ENOMEM);
    expect(allot_krealloc(block, SIZE_MAX / 2, ALLOT_KERNEL) == NULL && errno == ENOMEM && strcmp(block, "text") == 0);
    expect(allot_tenant_current(tenant) == before);

    const struct {
        const char *name;
        size_t size, alignment;
        int flags;
    } caches[] = {
        {NULL, 8, 0, 0},          {"none", 0, 0, 0},      {"crooked", 8, 24, 0}, {"high", 8, SIZE_MAX / 2 + 1, 0},
        {"huge", SIZE_MAX, 0, 0}, {"flag", 8, 0, 1 << 1}, {"flags", 8, 0, -1},   {"none", 8, 0, ALLOT_CACHE_NONE}};
    for (size_t i = 0; i < sizeof caches / sizeof *caches; ++i) {
        errno = 0;
        expect(allot_kmem_cache_create(caches[i].name, caches[i].size, caches[i].alignment,
                                       (allot_kmem_cache_flags)caches[i].flags, NULL) == NULL &&
               errno == EINVAL);
    }
    allot_free(block);
    allot_kmem_cache_destroy(cache);
    allot_kmem_cache_destroy(aligned);
    allot_set_active(NULL);
    expect(allot_tenant_current(tenant) == 0);
    return everything_adds_up();
}
