#include "expect.h"

int main(void) {
    char *p = allot_malloc(100);
    expect(p != NULL && allot_usable_size(p) >= 100 && (uintptr_t)p % 16 == 0);
    strcpy(p, "text");
    p = allot_realloc(p, 100000);
    expect(p != NULL && strcmp(p, "text") == 0);
    expect(allot_realloc(p, 0) == NULL);
    p = allot_calloc(30, 70);
    for (size_t i = 0; i < 2100; ++i) expect(p[i] == 0);
    allot_free(p);
    p = allot_aligned_alloc(4096, 10);
    expect(p != NULL && (uintptr_t)p % 4096 == 0);
    allot_free(p);
    expect(allot_aligned_alloc(24, 10) == NULL && errno == EINVAL);
    expect(allot_calloc(SIZE_MAX, 2) == NULL && errno == ENOMEM);
    expect(allot_malloc(SIZE_MAX / 2) == NULL && errno == ENOMEM);
    expect(allot_usable_size(NULL) == 0);
    errno = EPIPE;
    allot_free(NULL);
    expect(errno == EPIPE);
    return everything_adds_up();
}
