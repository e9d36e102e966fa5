#include "expect.h"

int main(void) {
    allot_tenant *tenant = tenant_below(NULL, "tenant", NULL);
    void *block = allot_malloc_in(tenant, 1000);
    const char *files[] = {"memory.current",      "memory.peak",     "memory.min",       "memory.low",
                           "memory.high",         "memory.max",      "memory.headroom",  "memory.events",
                           "memory.events.local", "memory.stat",     "memory.numa_stat", "memory.oom.group",
                           "memory.oom.policy",   "memory.pressure", "memory.throttle",  "memory.fail",
                           "cgroup.procs",        "cgroup.threads",  "cgroup.events",    "cgroup.max.descendants",
                           "cgroup.stat"};
    for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
        allot_tenant *both[] = {allot_root(), tenant};
        for (size_t j = 0; j < 2; ++j) {
            char whole[8192], part[16];
            ssize_t length = allot_tenant_get(both[j], files[i], whole, sizeof whole);
            if (length < 0) fprintf(stderr, "%s: %d\n", files[i], (int)length);
            expect(length >= 0 && (size_t)length < sizeof whole);
            expect(strlen(whole) == (size_t)length);
            expect(length == 0 || whole[length - 1] == '\n');
            if (strcmp(files[i], "memory.stat") == 0 || strcmp(files[i], "memory.pressure") == 0)
                continue; /* it moves */
            expect(allot_tenant_get(both[j], files[i], part, sizeof part) == length);
            expect(strncmp(whole, part, strlen(part)) == 0);
        }
    }
    const char *to_write[] = {"memory.reclaim", "cgroup.kill"};
    for (size_t i = 0; i < 2; ++i) expect(allot_tenant_get(tenant, to_write[i], NULL, 0) == -EACCES);
    expect(keyed(allot_root(), "memory.stat", "resident") > 0);
    expect(keyed(tenant, "memory.stat", "requested") == 1000);
    allot_free(block);
    return everything_adds_up();
}
