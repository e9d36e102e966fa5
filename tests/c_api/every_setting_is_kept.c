#include "expect.h"

struct setting {
    const char *file, *first, *values[4], *wrong[5];
};

/* Each file that can be written: what it is at first, that it reads as it was written, and that a value it cannot take is
 * refused and changes nothing. */
static const struct setting settings[] = {
    {"memory.min", "0\n", {"4096", "0"}, {"", "-1", "5MB", "1x", "4096 1"}},
    {"memory.low", "0\n", {"12345", "max"}, {"", "-1", "low", "1e3"}},
    {"memory.high", "max\n", {"1048576", "0", "max"}, {"", "-1", "0x10", "1 2"}},
    {"memory.max", "max\n", {"1", "1048576", "max"}, {"", "-5", "101%", "none"}},
    {"memory.headroom", "0\n", {"65536", "0"}, {"", "some"}},
    {"memory.oom.group", "0\n", {"1", "0"}, {"", "2", "yes", "-1", "01"}},
    {"memory.oom.policy", "inherit\n", {"kill", "abort", "fail", "inherit"}, {"", "Fail", "kills", "0"}},
    {"memory.throttle", "inherit\n", {"1", "0", "inherit"}, {"", "2", "on"}},
    {"memory.fail", "none\n", {"7", "7+", "7-9", "above 4096"}, {"", "0", "9-7", "above", "+"}},
    {"cgroup.max.descendants", "max\n", {"0", "17", "max"}, {"", "-1", "4294967296", "all"}},
};

static void expect_line(allot_tenant *tenant, const char *file, const char *line) {
    char text[64];
    ssize_t length = allot_tenant_get(tenant, file, text, sizeof text);
    if (length != (ssize_t)strlen(line) || strcmp(text, line) != 0) {
        fprintf(stderr, "%s is %s and should be %s", file, length < 0 ? "an error\n" : text, line);
        exit(1);
    }
}

int main(void) {
    allot_tenant *tenant = tenant_below(NULL, "tenant", NULL);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; ++i) {
        const struct setting *s = &settings[i];
        expect_line(tenant, s->file, s->first);
        for (size_t v = 0; v < 4 && s->values[v] != NULL; ++v) {
            char line[64];
            snprintf(line, sizeof line, "%s\n", s->values[v]);
            expect(allot_tenant_set(tenant, s->file, s->values[v]) == 0);
            expect_line(tenant, s->file, line);
            for (size_t w = 0; w < 5 && s->wrong[w] != NULL; ++w) {
                int result = allot_tenant_set(tenant, s->file, s->wrong[w]);
                if (result != -EINVAL) fprintf(stderr, "%s takes \"%s\"\n", s->file, s->wrong[w]);
                expect(result == -EINVAL);
                expect_line(tenant, s->file, line);
            }
        }
        expect_line(NULL, s->file, s->first); /* nobody else's has changed */
    }
    const char *only_read[] = {"memory.current", "memory.events",    "memory.events.local",
                               "memory.stat",    "memory.numa_stat", "memory.pressure",
                               "cgroup.procs",   "cgroup.events",    "cgroup.stat"};
    for (size_t i = 0; i < sizeof only_read / sizeof *only_read; ++i)
        expect(allot_tenant_set(tenant, only_read[i], "0") == -EACCES);
    expect(allot_tenant_set(tenant, "cgroup.kill", "0") == -EINVAL);
    expect(allot_tenant_set(tenant, "cgroup.kill", "yes") == -EINVAL);
    expect(allot_tenant_set(tenant, "cgroup.threads", "me") == -EINVAL);
    return everything_adds_up();
}
