#include "expect.h"

/* What takes a block takes NULL, and the end of one says nothing: errno stays. */
int main(void) {
    allot_kmem_cache *cache = allot_kmem_cache_create("cache", 100, 0, ALLOT_CACHE_DEFAULT, NULL);
    expect(cache != NULL);
    expect(allot_usable_size(NULL) == 0 && allot_ksize(NULL) == 0);
    expect(allot_owner_of(NULL) == NULL);
    expect(allot_transfer(NULL, NULL) == -EINVAL);
    void *blocks[] = {allot_malloc(100), allot_malloc(1000000), allot_kmalloc(100, ALLOT_KERNEL),
                      allot_kmem_cache_alloc(cache, ALLOT_KERNEL)};
    for (size_t i = 0; i < 4; ++i) expect(blocks[i] != NULL);
    errno = EPIPE;
    allot_free(NULL);
    allot_kfree(NULL);
    allot_kmem_cache_free(cache, NULL);
    allot_kmem_cache_free_bulk(cache, 0, NULL);
    allot_kmem_cache_destroy(NULL);
    allot_free(blocks[0]);
    allot_free(blocks[1]);
    allot_kfree(blocks[2]);
    allot_kmem_cache_free(cache, blocks[3]);
    expect(errno == EPIPE);
    char *fresh[] = {allot_realloc(NULL, 50), allot_krealloc(NULL, 50, ALLOT_KERNEL), allot_malloc(0)};
    for (size_t i = 0; i < 3; ++i) {
        expect(fresh[i] != NULL && allot_owner_of(fresh[i]) == allot_root());
        for (size_t j = 0; j < i; ++j) expect(fresh[i] != fresh[j]);
    }
    expect(allot_realloc(fresh[0], 0) == NULL && allot_krealloc(fresh[1], 0, ALLOT_KERNEL) == NULL);
    allot_free(fresh[2]);
    expect(allot_kmem_cache_alloc_bulk(cache, ALLOT_KERNEL, 0, NULL) == 0);
    allot_kmem_cache_destroy(cache);
    expect(allot_tenant_current(NULL) == 0);
    return everything_adds_up();
}
