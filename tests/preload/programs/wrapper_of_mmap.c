// Another preloaded library: it wraps mmap and looks for the real one at the first call, which may allocate.
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/types.h>

void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset) {
    static void *(*real)(void *, size_t, int, int, int, off_t);
    if (!real) {
        free(malloc(100));
        *(void **)&real = dlsym(RTLD_NEXT, "mmap");
    }
    return real(address, length, protection, flags, fd, offset);
}
