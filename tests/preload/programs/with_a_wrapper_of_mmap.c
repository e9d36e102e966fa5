// Starts anew with a second preloaded library around mmap, before and after ours.
#include "expect.h"
#include <sys/mman.h>
#include <sys/wait.h>

static void run(const char *preload) {
    const pid_t child = fork();
    if (child == 0) {
        setenv("LD_PRELOAD", preload, 1);
        execl("/proc/self/exe", "wrapped", "again", NULL);
        _exit(9);
    }
    int status;
    expect(waitpid(child, &status, 0) == child && status == 0);
}
int main(int argc, char **argv) {
    alarm(30);
    if (argc == 2 && strcmp(argv[1], "again") == 0) {
        char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        expect(p != MAP_FAILED);
        memset(p, 1, 4096);
        expect(munmap(p, 4096) == 0);
        free(opaque(malloc(10 << 20)));
        return 0;
    }
    const char *ours = getenv("LD_PRELOAD");
    char list[8192];
    snprintf(list, sizeof list, "%s:%s", ours ? ours : "", argv[1]);
    run(list);
    snprintf(list, sizeof list, "%s:%s", argv[1], ours ? ours : "");
    run(list);
}
