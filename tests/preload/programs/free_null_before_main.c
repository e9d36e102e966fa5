// free(NULL) and malloc_usable_size(NULL) before any constructor of the program, when no block exists yet.
#include "expect.h"
#include <malloc.h>

static void first(void) {
    free(opaque(NULL));
    expect(malloc_usable_size(opaque(NULL)) == 0);
    expect(realloc(opaque(NULL), 10) != NULL);
}
__attribute__((section(".preinit_array"), used)) static void (*const run_first)(void) = first;
int main(void) { first(); }
