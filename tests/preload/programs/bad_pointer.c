// Gives free, realloc or malloc_usable_size a pointer that is no block; the argument names what.
#include "expect.h"
#include <malloc.h>
#include <sys/mman.h>

int main(int argc, char **argv) {
    __attribute__((aligned(16))) char on_stack[256] = {0};
    static __attribute__((aligned(16))) char statically[256];
    const char *kind = argc > 1 ? argv[1] : "";
    void *p = NULL;
    if (strcmp(kind, "stack") == 0) p = on_stack + 64;
    if (strcmp(kind, "static") == 0) p = statically + 64;
    if (strcmp(kind, "wild") == 0) p = (void *)0xdeadbeef000;
    if (strcmp(kind, "unaligned") == 0) p = statically + 65;
    if (strcmp(kind, "mapped") == 0)
        p = (char *)mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + 4096;
    expect(p);
    const char *function = argc > 2 ? argv[2] : "free";
    p = opaque(p);
    if (strcmp(function, "free") == 0) free(p);
    if (strcmp(function, "realloc") == 0) p = realloc(p, 10);
    if (strcmp(function, "malloc_usable_size") == 0) printf("%zu\n", malloc_usable_size(p));
    puts("went on");
}
