// A process that may map no more than 64 MiB starts, allocates what there is, is refused and goes on.
#include "expect.h"
#include <sys/resource.h>

int main(int argc, char **argv) {
    if (argc == 1) {
        const struct rlimit limit = {64 << 20, 64 << 20};
        expect(setrlimit(RLIMIT_AS, &limit) == 0);
        execl("/proc/self/exe", argv[0], "again", NULL);
        expect(!"exec");
    }
    for (int round = 0; round < 3; ++round) {
        void **chain = NULL;
        size_t count = 0;
        for (void **block; (block = malloc(1024)) != NULL; ++count) {
            *block = chain;
            chain = block;
        }
        expect(errno == ENOMEM);
        expect(count > 20000);
        while (chain) {
            void **next = *chain;
            free(chain);
            chain = next;
        }
    }
    expect(malloc(100) != NULL);
}
