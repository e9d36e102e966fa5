#include "expect.h"

static void construct(void *object) { *(char *)object = 1; }

int main(void) {
    allot_tenant *tenant = tenant_below(NULL, "tenant", "64K");
    allot_set_active(tenant);
    void *all = allot_malloc(65536);
    expect(all != NULL && allot_malloc(1) == NULL);
    expect(allot_kmalloc(100, ALLOT_KERNEL) == NULL && errno == ENOMEM);
    expect(allot_kmalloc(100, ALLOT_NOWAIT) == NULL && errno == ENOMEM);
    allot_gfp insisting[] = {ALLOT_ATOMIC, ALLOT_NOFAIL};
    for (size_t i = 0; i < 2; ++i) {
        size_t sizes[] = {100, 100000, 2000000};
        for (size_t j = 0; j < 3; ++j) {
            char *block = allot_kmalloc(sizes[j], insisting[i] | ALLOT_ZERO);
            expect(block != NULL && block[0] == 0 && block[sizes[j] - 1] == 0);
            expect(allot_tenant_current(tenant) == 65536 + allot_ksize(block)); /* over its max, and paid for */
            allot_kfree(block);
        }
    }
    expect(keyed(tenant, "memory.stat", "forced") > 0);
    expect(allot_kmalloc(1, ALLOT_ATOMIC | ALLOT_NOFAIL) == NULL && errno == EINVAL);
    expect(allot_kmalloc(1, (allot_gfp)(1 << 20)) == NULL && errno == EINVAL);
    allot_kmem_cache *cache = allot_kmem_cache_create("c", 64, 0, ALLOT_CACHE_DEFAULT, construct);
    void *objects[10];
    expect(allot_kmem_cache_alloc_bulk(cache, ALLOT_NOWAIT, 10, objects) == 0 && errno == ENOMEM);
    expect(allot_kmem_cache_alloc_bulk(cache, ALLOT_NOFAIL, 10, objects) == 10);
    for (size_t i = 0; i < 10; ++i) expect(*(char *)objects[i] == 1);
    allot_kmem_cache_free_bulk(cache, 10, objects);
    allot_kmem_cache_destroy(cache);
    allot_free(all);
    expect(allot_tenant_current(tenant) == 0);
    allot_set_active(NULL);
    return everything_adds_up();
}
