// 16 MiB with `account` set to `heap`: malloc counts, mappings and the break do not.
#include "expect.h"
#include <sys/mman.h>

int main(void) {
    expect(mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
    expect(sbrk(32 << 20) != (void *)-1);
    expect(malloc(15 << 20) != NULL);
    expect(malloc(opaque_size(15 << 20)) == NULL);
}
