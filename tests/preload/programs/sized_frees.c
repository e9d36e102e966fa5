// C23's free_sized and free_aligned_sized exist, and accept what was asked for.
#include "expect.h"
#include <dlfcn.h>

int main(void) {
    void (*free_sized)(void *, size_t) = (void (*)(void *, size_t))dlsym(RTLD_DEFAULT, "free_sized");
    void (*free_aligned_sized)(void *, size_t, size_t) =
        (void (*)(void *, size_t, size_t))dlsym(RTLD_DEFAULT, "free_aligned_sized");
    expect(free_sized && free_aligned_sized);
    errno = 42;
    for (size_t size = 0; size < 3u << 20; size = size * 3 + 1) {
        free_sized(malloc(size), size);
        free_sized(calloc(1, size), size);
        for (size_t alignment = 16; alignment <= 65536; alignment *= 4) {
            const size_t rounded = (size + alignment - 1) / alignment * alignment;
            free_aligned_sized(aligned_alloc(alignment, rounded), alignment, rounded);
        }
    }
    free_sized(NULL, 10);
    free_aligned_sized(NULL, 64, 64);
    expect(errno == 42);
}
