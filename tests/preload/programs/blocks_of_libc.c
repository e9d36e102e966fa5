// Blocks that come from libc's own malloc, by its address, are known and go back there: from its heap, from another
// arena, mapped by themselves, and aligned.
#include "expect.h"
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>

static void *(*libc_malloc)(size_t);
static void *(*libc_memalign)(size_t, size_t);
static void *use(void *unused) {
    for (size_t size = 1; size < 64u << 20; size = size * 4 + 8) {
        void *p = libc_malloc(size);
        expect(malloc_usable_size(p) >= size);
        memset(p, 3, size);
        free(p);
        char *q = realloc(memset(libc_malloc(size), 4, size), size * 2);
        expect(q && q[0] == 4 && q[size - 1] == 4);
        free(q);
        free(libc_memalign(4096, size));
        expect(realloc(libc_malloc(size), opaque_size(0)) == NULL);
    }
    return unused;
}
int main(void) {
    void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    libc_malloc = (void *(*)(size_t))dlsym(libc, "malloc");
    libc_memalign = (void *(*)(size_t, size_t))dlsym(libc, "memalign");
    use(NULL);
    pthread_t thread;
    expect(pthread_create(&thread, NULL, use, NULL) == 0 && pthread_join(thread, NULL) == 0);
}
