// Misuses a block of the allocator; the argument says how.
#include "expect.h"
#include <malloc.h>

int main(int argc, char **argv) {
    const char *kind = argc > 1 ? argv[1] : "";
    const int large = argc > 2;
    char *p = malloc(large ? 3 << 20 : 100);
    memset(p, 1, 100);
    char *volatile q = p;
    if (strcmp(kind, "twice") == 0) {
        free(p);
        free(q);
    }
    if (strcmp(kind, "inside") == 0) free(q + 16);
    if (strcmp(kind, "unaligned") == 0) free(q + 1);
    if (strcmp(kind, "size_inside") == 0) printf("%zu\n", malloc_usable_size(q + 16));
    puts("went on");
}
