// Holds 64 bytes in one block, does what its first argument says, and ends with status 7. Its report is known to the byte.
#include "expect.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

static void destroyed(void) { expect(opaque(malloc(64))); }

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    expect(opaque(malloc(64)));
    if (strcmp(what, "_exit") == 0) _exit(7);
    if (strcmp(what, "killed") == 0) kill(getpid(), SIGKILL);
    if (strcmp(what, "late") == 0) expect(atexit(destroyed) == 0); // what is allocated at the end counts too
    if (strcmp(what, "closes") == 0) close(2);
    if (strcmp(what, "replaces") == 0) { // a file of the program's own takes the number of standard error
        close(2);
        expect(open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0600) == 2);
    }
    if (strcmp(what, "closes_all") == 0)
        for (int fd = 2; fd < 1024; ++fd) close(fd);
    if (strcmp(what, "moves") == 0) expect(chdir("/") == 0);
    if (strcmp(what, "renames") == 0) memset(argv[0], 'x', strlen(argv[0]));
    if (strcmp(what, "refused") == 0) expect(malloc(opaque_size(32 << 20)) == NULL);
    if (strcmp(what, "maps") == 0) {
        void *p = mmap(NULL, 3 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        expect(p != MAP_FAILED && munmap(p, 2 << 20) == 0);
    }
    if (strcmp(what, "breaks_pipe") == 0) sleep(1);
    if (strcmp(what, "forks") == 0) {
        const pid_t child = fork();
        if (child == 0) {
            expect(opaque(malloc(128)));
            exit(4);
        }
        int status;
        expect(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 4);
    }
    return 7;
}
