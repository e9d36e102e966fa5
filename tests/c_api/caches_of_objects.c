#include "expect.h"

struct object {
    int number;
    char rest[68];
};
static void construct(void *object) { ((struct object *)object)->number = 42; }

int main(void) {
    allot_tenant *tenant = tenant_below(NULL, "tenant", "1M");
    allot_kmem_cache *cache =
        allot_kmem_cache_create("objects", sizeof(struct object), 0, ALLOT_CACHE_HWALIGN, construct);
    expect(cache != NULL && strcmp(allot_kmem_cache_name(cache), "objects") == 0);
    expect(allot_kmem_cache_create("none", 0, 0, ALLOT_CACHE_DEFAULT, NULL) == NULL && errno == EINVAL);
    expect(allot_kmem_cache_create("none", 8, 0, (allot_kmem_cache_flags)2, NULL) == NULL && errno == EINVAL);
    allot_set_active(tenant);
    struct object *one = allot_kmem_cache_alloc(cache, ALLOT_KERNEL);
    expect(one != NULL && one->number == 42 && (uintptr_t)one % 64 == 0);
    expect(allot_usable_size(one) == allot_kmem_cache_slot_size(cache));
    allot_kmem_cache_free(cache, one);
    void *many[100];
    expect(allot_kmem_cache_alloc_bulk(cache, ALLOT_KERNEL, 100, many) == 100);
    expect(allot_tenant_current(tenant) == 100 * allot_kmem_cache_slot_size(cache));
    allot_kmem_cache_free_bulk(cache, 100, many);
    static void *too_many[20000];
    expect(allot_kmem_cache_alloc_bulk(cache, ALLOT_KERNEL, 20000, too_many) == 0 && errno == ENOMEM); /* all or none */
    expect(allot_tenant_current(tenant) == 0);
    allot_set_active(NULL);
    (void)allot_kmem_cache_shrink(cache);
    allot_kmem_cache_destroy(cache);
    return everything_adds_up();
}
