#include "expect.h"

/* A cache is shrunk where there is something to give back, and says whether there was. */
int main(void) {
    allot_kmem_cache *cache =
        allot_kmem_cache_create("a name that is longer than what is kept of it", 1000, 512, ALLOT_CACHE_DEFAULT, NULL);
    expect(cache != NULL && strlen(allot_kmem_cache_name(cache)) == 31);
    expect(strncmp(allot_kmem_cache_name(cache), "a name that is longer than what is kept of it", 31) == 0);
    expect(allot_kmem_cache_slot_size(cache) >= 1000);
    static void *objects[4000];
    expect(allot_kmem_cache_alloc_bulk(cache, ALLOT_ZERO, 4000, objects) == 4000);
    for (size_t i = 0; i < 4000; ++i) {
        expect((uintptr_t)objects[i] % 512 == 0 && ((char *)objects[i])[999] == 0);
        expect(allot_usable_size(objects[i]) == allot_kmem_cache_slot_size(cache));
        memset(objects[i], 1, 1000);
    }
    (void)allot_kmem_cache_shrink(cache);
    uint64_t resident = keyed(NULL, "memory.stat", "resident");
    allot_kmem_cache_free_bulk(cache, 4000, objects);
    expect(allot_kmem_cache_shrink(cache) == 0);
    expect(keyed(NULL, "memory.stat", "resident") + 3000000 < resident);
    expect(allot_kmem_cache_shrink(cache) == 1); /* nothing is left */
    allot_kmem_cache_destroy(cache);
    return everything_adds_up();
}
