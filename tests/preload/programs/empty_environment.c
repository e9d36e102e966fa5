// A program without any environment variable but the preload itself.
#include "expect.h"
extern char **environ;

int main(int argc, char **argv) {
    if (argc == 1) {
        static char preload[4096];
        const char *library = getenv("LD_PRELOAD");
        snprintf(preload, sizeof preload, "LD_PRELOAD=%s", library ? library : "");
        char *environment[] = {library ? preload : NULL, NULL};
        execve("/proc/self/exe", (char *[]){argv[0], "again", NULL}, environment);
    }
    expect(environ[0] == NULL || environ[1] == NULL);
    free(opaque(malloc(100)));
}
