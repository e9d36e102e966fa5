// Alignments that the address space cannot hold are refused like sizes are, not by an abort.
#include "expect.h"
#include <malloc.h>

int main(void) {
    for (int log2 = 4; log2 <= 45; ++log2) {
        errno = 0;
        void *p = memalign((size_t)1 << log2, 1);
        expect(p ? (uintptr_t)p % ((size_t)1 << log2) == 0 : errno == ENOMEM);
        expect(p || log2 > 26);
        expect(!p || log2 < 45);
        free(p);
    }
}
