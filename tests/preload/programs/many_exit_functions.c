// libc's table of exit functions grows by calloc while its lock is held; the functions allocate and free too.
#include "expect.h"

static void *kept[300];
static int used;
static void at_exit(void) {
    free(kept[--used]);
    free(opaque(malloc(1000)));
}
__attribute__((destructor)) static void last(void) {
    expect(used == 0);
    free(opaque(calloc(10, 10)));
}
int main(void) {
    for (int i = 0; i < 300; ++i) {
        kept[used++] = malloc((size_t)i * 7);
        expect(atexit(at_exit) == 0);
    }
}
