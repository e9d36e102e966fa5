#include "expect.h"

static void *cached[64];
static size_t count, calls;

static size_t held(void *argument) { return count * 100000; }
static size_t give(void *argument, size_t bytes) {
    size_t given = 0;
    for (++calls; given < bytes && count != 0; given += 100000) allot_free(cached[--count]);
    return given;
}

int main(void) {
    allot_tenant *parent = tenant_below(NULL, "parent", "8M");
    allot_tenant *cache = tenant_below(parent, "cache", NULL), *work = tenant_below(parent, "work", NULL);
    for (; count < 64; ++count) expect((cached[count] = allot_malloc_in(cache, 100000)) != NULL);
    int id = allot_shrinker_register(cache, held, give, NULL);
    expect(id >= 0);
    void *block = allot_malloc_in(work, 6000000); /* the parent's limit: its whole subtree is asked */
    expect(block != NULL && calls > 0 && count > 0);
    expect(keyed(parent, "memory.events", "oom") == 0);
    expect(keyed(parent, "memory.stat", "reclaimed") > 0);
    allot_free(block);
    expect(allot_shrinker_unregister(id) == 0);
    expect(allot_shrinker_unregister(id) == -ESTALE);
    calls = 0;
    expect(allot_malloc_in(work, 8380000) == NULL && calls == 0);
    expect(allot_shrinker_register(cache, NULL, give, NULL) == -EINVAL);
    while (count != 0) allot_free(cached[--count]);
    return everything_adds_up();
}
