// A hundred thousand holes between as many blocks are no mappings of their own, of which a process may have 65,530.
#include "expect.h"

static int nr_maps(void) {
    FILE *file = fopen("/proc/self/maps", "r");
    expect(file != NULL);
    int count = 0;
    for (int c; (c = fgetc(file)) != EOF;) count += c == '\n';
    fclose(file);
    return count;
}

int main(void) {
    enum { count = 200000 };
    static char *blocks[count];
    for (int i = 0; i < count; ++i) {
        blocks[i] = opaque(malloc(100000));
        if (blocks[i] == NULL) return 0; // no such address space here
        if (i % 100 == 1) blocks[i][0] = 1;
    }
    for (int i = 0; i < count; i += 2) free(blocks[i]);
    for (int i = 1; i < count; i += 2)
        if (i % 100 == 1) { // growth that has to go elsewhere
            blocks[i] = opaque(realloc(blocks[i], 600000));
            expect(blocks[i] != NULL && blocks[i][0] == 1);
        }
    expect(nr_maps() <= 1000);
    for (int i = 1; i < count; i += 2) free(blocks[i]);
    expect(nr_maps() <= 1000);
}
