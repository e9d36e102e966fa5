#include "expect.h"

#include <unistd.h>

static uint64_t told[allot_nr_events];
static allot_tenant *last;

static void note(allot_tenant *tenant, enum allot_event event, uint64_t count, void *argument) {
    told[event] += count;
    last = tenant;
    allot_free(allot_malloc(100)); /* it may */
    expect(argument == told);
}

int main(void) {
    allot_tenant *parent = tenant_below(NULL, "parent", NULL), *child = tenant_below(parent, "child", "64K");
    unsigned refusals = ALLOT_EVENT_BIT(allot_event_oom);
    int id = allot_on_event(parent, refusals | ALLOT_EVENT_BIT(allot_event_high), note, told);
    int fd = allot_event_fd(child, refusals);
    expect(id >= 0 && fd >= 0);
    uint64_t number = 0;
    expect(read(fd, &number, sizeof number) == -1 && errno == EAGAIN);
    for (int i = 1; i <= 3; ++i) {
        expect(allot_malloc_in(child, 100000) == NULL && errno == ENOMEM);
        expect(told[allot_event_oom] == (uint64_t)i && last == parent);
    }
    expect(read(fd, &number, sizeof number) == sizeof number && number == 3);
    expect(allot_tenant_set(child, "memory.high", "16K") == 0);
    void *block = allot_malloc_in(child, 40000);
    expect(block != NULL && told[allot_event_high] == 1);
    expect(told[allot_event_max] == 0); /* not asked for */
    allot_free(block);
    expect(allot_off_event(id) == 0 && allot_off_event(id) == -ESTALE);
    expect(allot_event_fd_close(fd) == 0);
    expect(allot_malloc_in(child, 100000) == NULL && told[allot_event_oom] == 3);
    expect(allot_on_event(child, 0, note, NULL) == -EINVAL);
    return everything_adds_up();
}
