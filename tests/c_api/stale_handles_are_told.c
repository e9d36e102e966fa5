#include "cache.h"

static void never(allot_tenant *tenant, enum allot_event event, uint64_t count, void *argument) {
    (void)tenant, (void)event, (void)count, (void)argument;
    exit(1);
}

/* The handle of a tenant that is gone: every function notices, and none takes another for it, not even one of the same
 * name in the same record. */
int main(void) {
    allot_tenant *parent = tenant_below(NULL, "parent", NULL), *gone = tenant_below(parent, "child", NULL);
    expect(allot_tenant_destroy(gone) == 0);
    allot_tenant *next = tenant_below(parent, "child", NULL);
    expect(next != gone && allot_tenant_open("/parent/child") == next);
    void *block = allot_malloc(100);
    char text[16];

    expect(allot_tenant_create(gone, "below") == NULL && errno == ESTALE);
    expect(allot_tenant_destroy(gone) == -ESTALE);
    expect(allot_tenant_reset(gone) == -ESTALE);
    expect(allot_tenant_set(gone, "memory.max", "0") == -ESTALE);
    expect(allot_tenant_set(gone, "memory.reclaim", "1M") == -ESTALE);
    expect(allot_tenant_set(gone, "cgroup.threads", "0") == -ESTALE);
    expect(allot_tenant_set(gone, "cgroup.kill", "1") == -ESTALE);
    const char *files[] = {"memory.current", "memory.max", "memory.stat", "memory.events", "cgroup.threads"};
    for (size_t i = 0; i < sizeof files / sizeof *files; ++i)
        expect(allot_tenant_get(gone, files[i], text, sizeof text) == -ESTALE);
    expect(allot_tenant_current(gone) == 0);
    expect(allot_try_charge(gone, 100) == -ESTALE);
    expect(allot_shrinker_register(gone, cache_count, cache_scan, NULL) == -ESTALE);
    expect(allot_on_event(gone, ALLOT_EVENT_BIT(allot_event_oom), never, NULL) == -ESTALE);
    expect(allot_event_fd(gone, ALLOT_EVENT_BIT(allot_event_oom)) == -ESTALE);
    expect(allot_malloc_in(gone, 100) == NULL && errno == ESTALE);
    expect(allot_transfer(block, gone) == -ESTALE && allot_owner_of(block) == allot_root());

    uint64_t mistakes = keyed(NULL, "memory.stat", "anomalies");
    expect(allot_try_charge(next, 500) == 0);
    allot_uncharge(gone, 500); /* nothing is out by it */
    expect(allot_tenant_current(next) == 500 && keyed(NULL, "memory.stat", "anomalies") == mistakes + 1);
    allot_uncharge(next, 500);

    /* A thread that works for it goes on for whoever stands for it. */
    (void)allot_set_active(next);
    expect(allot_tenant_destroy(next) == 0);
    void *left = allot_malloc(100);
    expect(allot_owner_of(left) == parent && allot_set_active(NULL) == parent);
    allot_free(left);
    allot_free(block);
    expect(allot_tenant_current(parent) == 0);
    return everything_adds_up();
}
