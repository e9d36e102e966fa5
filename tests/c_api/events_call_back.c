#include "expect.h"

struct heard {
    uint64_t calls, counts[allot_nr_events];
    allot_tenant *last;
};

static void hear(allot_tenant *tenant, enum allot_event event, uint64_t count, void *argument) {
    struct heard *h = argument;
    ++h->calls;
    h->counts[event] += count;
    h->last = tenant;
    /* It may allocate, free, and read and write files. */
    void *p = allot_malloc(100);
    expect(p != NULL);
    allot_free(p);
    char text[256];
    expect(allot_tenant_get(tenant, "memory.pressure", text, sizeof text) > 0);
    expect(allot_tenant_set(tenant, "memory.low", "0") == 0);
}

/* A refusal is told to who listens at the level and above it; by the time malloc returns. */
int main(void) {
    allot_tenant *parent = tenant_below(NULL, "parent", NULL), *child = tenant_below(parent, "child", "64K");
    struct heard at_parent = {0}, at_child = {0};
    int above = allot_on_event(parent, ALLOT_EVENT_BIT(allot_event_oom), hear, &at_parent);
    int below =
        allot_on_event(child, ALLOT_EVENT_BIT(allot_event_oom) | ALLOT_EVENT_BIT(allot_event_max), hear, &at_child);
    expect(above > 0 && below > 0 && above != below);
    expect(allot_on_event(child, 0, hear, NULL) == -EINVAL);
    expect(allot_malloc_in(child, 100000) == NULL && errno == ENOMEM);
    expect(at_child.counts[allot_event_oom] == 1 && at_child.counts[allot_event_max] == 1);
    expect(at_parent.counts[allot_event_oom] == 1 && at_parent.calls == 1 && at_parent.last == parent);
    expect(allot_try_charge(child, 100000) == -ENOMEM);
    expect(at_parent.counts[allot_event_oom] == 2);
    expect(allot_off_event(above) == 0 && allot_off_event(above) == -ESTALE && allot_off_event(-1) == -ENOENT);
    expect(allot_malloc_in(child, 100000) == NULL);
    expect(at_parent.calls == 2 && at_child.counts[allot_event_oom] == 3);
    expect(allot_tenant_destroy(child) == 0); /* and with it the callback */
    expect(allot_off_event(below) == -ESTALE);
    return everything_adds_up();
}
