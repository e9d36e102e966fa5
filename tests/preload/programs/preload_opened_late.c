// The library can be opened into a running program too: its thread storage fits, and the program goes on.
#include "expect.h"
#include <dlfcn.h>

int main(int argc, char **argv) {
    expect(argc == 2);
    void *before = malloc(100);
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) puts(dlerror());
    expect(library);
    void *(*its_malloc)(size_t) = (void *(*)(size_t))dlsym(library, "malloc");
    void (*its_free)(void *) = (void (*)(void *))dlsym(library, "free");
    for (size_t size = 1; size < 10u << 20; size *= 3) its_free(memset(its_malloc(size), 1, size));
    its_free(before); // libc's block: recognised and given back
    free(opaque(malloc(100)));
    dlclose(library);
    free(opaque(malloc(100)));
}
