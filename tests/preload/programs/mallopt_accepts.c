// Programs tune libc's malloc; what is known is accepted, unknown parameters too, and malloc goes on. malloc_trim says
// whether it gave anything back.
#include "expect.h"
#include <malloc.h>

int main(void) {
    expect(mallopt(M_ARENA_MAX, 1) == 1 && mallopt(M_TRIM_THRESHOLD, 0) == 1 && mallopt(M_MMAP_THRESHOLD, 65536) == 1);
    expect(mallopt(M_MMAP_MAX, 0) == 1 && mallopt(M_TOP_PAD, 0) == 1 && mallopt(12345, 1) == 1);
    expect(mallopt(M_MMAP_THRESHOLD, 1 << 30) == 1 && mallopt(M_MXFAST, 64) == 1 && mallopt(M_MXFAST, 100000) == 0);
    char *blocks[100];
    for (int i = 0; i < 100; ++i) memset(blocks[i] = malloc(100000), 1, 100000);
    for (int i = 0; i < 100; ++i) free(blocks[i]);
    errno = 42;
    for (int i = 0; i < 10; ++i) expect((malloc_trim(0) & ~1) == 0);
    expect(errno == 42);
}
