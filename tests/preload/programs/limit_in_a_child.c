// 16 MiB: a child owes nothing for what it inherited and has the whole limit for itself; its frees of inherited blocks
// and mappings give nothing back, to it or to its parent.
#include "expect.h"
#include <sys/mman.h>
#include <sys/wait.h>

int main(void) {
    void *block = malloc(10 << 20);
    void *map = mmap(NULL, 4 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    expect(block && map != MAP_FAILED);
    expect(malloc(opaque_size(4 << 20)) == NULL);
    const pid_t child = fork();
    if (child == 0) {
        free(block);
        expect(munmap(map, 4 << 20) == 0);
        void *own = malloc(15 << 20);
        expect(own);
        expect(malloc(opaque_size(2 << 20)) == NULL);
        free(own);
        _exit(0);
    }
    int status;
    expect(waitpid(child, &status, 0) == child && status == 0);
    expect(malloc(opaque_size(4 << 20)) == NULL);
    free(block);
    expect(munmap(map, 4 << 20) == 0);
    expect(malloc(15 << 20) != NULL);
}
