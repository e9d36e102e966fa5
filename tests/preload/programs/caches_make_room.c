// 16 MiB, of which caches hold most: their shrinkers unmap and free, amid mappings and allocations of every kind, which
// then succeed. Only what does not fit without any cache is refused.
#include "expect.h"
#include <dlfcn.h>
#include <sys/mman.h>

enum { mib = 1 << 20, writable = PROT_READ | PROT_WRITE };
static void *map(size_t bytes, int protection) {
    return mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

struct cache {
    void *pieces[16];
    size_t count, asked;
    int are_mappings;
};
static size_t held(void *argument) { return ((struct cache *)argument)->count * mib; }
static size_t give(void *argument, size_t bytes) {
    struct cache *c = argument;
    size_t given = 0;
    for (++c->asked; given < bytes && c->count != 0; given += mib) {
        void *piece = c->pieces[--c->count];
        if (c->are_mappings)
            expect(munmap(piece, mib) == 0);
        else
            free(piece);
    }
    free(malloc(opaque_size(100)));
    errno = EPIPE;
    return given;
}
// With so many MiB in use elsewhere, to 14.
static void fill(struct cache *c, size_t elsewhere) {
    for (c->asked = 0; c->count < 14 - elsewhere; ++c->count) {
        void *piece = c->are_mappings ? map(mib, writable) : malloc(opaque_size(mib));
        expect(piece != NULL && piece != MAP_FAILED);
        c->pieces[c->count] = piece;
    }
    expect(c->asked == 0);
}

int main(void) {
    void *(*root)(void) = (void *(*)(void))dlsym(RTLD_DEFAULT, "allot_root");
    int (*enlist)(void *, size_t (*)(void *), size_t (*)(void *, size_t), void *) =
        (int (*)(void *, size_t (*)(void *), size_t (*)(void *, size_t), void *))dlsym(RTLD_DEFAULT,
                                                                                       "allot_shrinker_register");
    expect(root != NULL && enlist != NULL);
    static struct cache caches[2] = {{.are_mappings = 0}, {.are_mappings = 1}};
    for (int i = 0; i < 2; ++i) expect(enlist(root(), held, give, &caches[i]) >= 0);
    for (int round = 0; round < 4; ++round) {
        struct cache *c = &caches[round % 2];
        fill(c, 0);
        char *p = map(3 * mib, writable);
        expect(p != MAP_FAILED && c->asked != 0);
        fill(c, 3);
        char *reserved = map(8 * mib, PROT_NONE);
        expect(mprotect(reserved, 3 * mib, writable) == 0 && c->asked != 0);
        fill(c, 6);
        p = mremap(p, 3 * mib, 6 * mib, MREMAP_MAYMOVE);
        expect(p != MAP_FAILED && c->asked != 0);
        expect(munmap(p, 6 * mib) == 0);
        fill(c, 3);
        char *block = malloc(opaque_size(3 * mib));
        expect(block != NULL && c->asked != 0);
        fill(c, 6);
        block = realloc(block, 6 * mib);
        expect(block != NULL && c->asked != 0);
        fill(c, 9);
        expect(sbrk(3 * mib) != (void *)-1 && c->asked != 0);
        expect(sbrk(-3 * mib) != (void *)-1);
        expect(c->count != 0);
        errno = 0;
        expect(map(10 * mib, writable) == MAP_FAILED && errno == ENOMEM);
        expect(c->count == 0);
        free(block);
        expect(munmap(reserved, 8 * mib) == 0);
    }
}
