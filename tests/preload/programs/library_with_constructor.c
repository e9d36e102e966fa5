#include <stdlib.h>
#include <string.h>

char *library_text;
int library_constructed;

__attribute__((constructor)) static void construct(void) {
    library_text = strdup("made before main");
    for (int i = 0; i < 1000; ++i) free(malloc((size_t)i));
    library_constructed = 1;
}
__attribute__((destructor)) static void destruct(void) { free(malloc(100)); }
