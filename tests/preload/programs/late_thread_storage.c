// Ten libraries with thread storage are open already when the preload library is opened: its own still fits.
#include "expect.h"
#include <dlfcn.h>

int main(int argc, char **argv) {
    expect(argc == 12);
    for (int i = 1; i < 12; ++i) {
        void *library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        if (!library) puts(dlerror());
        expect(library);
    }
    free(opaque(malloc(100)));
}
