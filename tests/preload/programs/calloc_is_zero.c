// Memory that was dirty, freed and given back to the system is zero when calloc hands it out.
#include "expect.h"
#include <malloc.h>

int main(void) {
    for (int round = 0; round < 3; ++round)
        for (size_t size = 16; size < 20u << 20; size = size * 3 + 16) {
            void *dirty[8];
            for (int i = 0; i < 8; ++i) memset(dirty[i] = malloc(size), 0xff, size);
            for (int i = 0; i < 8; ++i) free(dirty[i]);
            if (round == 1) malloc_trim(0);
            for (int i = 0; i < 8; ++i) {
                const unsigned char *clean = dirty[i] = calloc(1, size);
                expect(clean);
                for (size_t at = 0; at < size; ++at) expect(clean[at] == 0);
            }
            for (int i = 0; i < 8; ++i) free(dirty[i]);
        }
}
