/* A cache as a program has one: a list of blocks that a shrinker frees. */
#ifndef ALLOT_TESTS_CACHE_H
#define ALLOT_TESTS_CACHE_H

#include "expect.h"

struct entry {
    struct entry *next;
    size_t bytes;
};
struct cache {
    allot_tenant *tenant;
    struct entry *first;
    size_t bytes;
    unsigned scans;
};

static inline void cache_fill(struct cache *c, size_t bytes, size_t each) {
    for (size_t filled = 0; filled < bytes; filled += each) {
        struct entry *e = allot_malloc_in(c->tenant, each);
        expect(e != NULL);
        memset(e, 1, each);
        e->bytes = allot_usable_size(e);
        e->next = c->first;
        c->first = e;
        c->bytes += e->bytes;
    }
}

static inline size_t cache_count(void *cache) { return ((struct cache *)cache)->bytes; }

static inline size_t cache_scan(void *cache, size_t bytes) {
    struct cache *c = cache;
    size_t freed = 0;
    ++c->scans;
    while (c->first != NULL && freed < bytes) {
        struct entry *e = c->first;
        c->first = e->next;
        freed += e->bytes;
        c->bytes -= e->bytes;
        allot_free(e);
    }
    return freed;
}

#endif
