/* What these programs share: a condition that must hold, and the end that all of them have. */
#ifndef ALLOT_TESTS_EXPECT_H
#define ALLOT_TESTS_EXPECT_H

#include <allot/kmem_cache.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define expect(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: expected: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno);                \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* A line of a flat-keyed file, such as "oom" of memory.events. */
static inline uint64_t keyed(allot_tenant *tenant, const char *file, const char *key) {
    char text[4096];
    ssize_t length = allot_tenant_get(tenant, file, text, sizeof text);
    expect(length > 0 && (size_t)length < sizeof text);
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        size_t name = strcspn(line, " ");
        if (strlen(key) == name && strncmp(line, key, name) == 0) return strtoull(line + name, NULL, 10);
    }
    fprintf(stderr, "%s has no line %s\n", file, key);
    exit(1);
}

static inline allot_tenant *tenant_below(allot_tenant *parent, const char *name, const char *max) {
    allot_tenant *tenant = allot_tenant_create(parent, name);
    expect(tenant != NULL);
    expect(max == NULL || allot_tenant_set(tenant, "memory.max", max) == 0);
    return tenant;
}

static inline int everything_adds_up(void) {
    allot_verify_report report;
    int result = allot_verify(&report);
    if (result != 0) fprintf(stderr, "verify: %s\n", report.first);
    return result == 0 && report.differences == 0 ? 0 : 1;
}

#endif
