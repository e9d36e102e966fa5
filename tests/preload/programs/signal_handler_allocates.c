// A timer interrupts malloc and free a thousand times a second, and its handler allocates too. It is the program's
// fault, but crash reporters do it: it must not hang, and blocks must not be handed out twice.
#include "expect.h"
#include <signal.h>
#include <sys/time.h>
#include <time.h>

static volatile sig_atomic_t handled;
static void handle(int number) {
    (void)number;
    unsigned char *p = malloc(100);
    if (p) {
        memset(p, 0xaa, 100);
        for (int i = 0; i < 100; ++i)
            if (p[i] != 0xaa) _exit(7);
        free(p);
    }
    free(malloc(200000));
    ++handled;
}
int main(void) {
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    const struct itimerval every = {{0, 1000}, {0, 1000}};
    setitimer(ITIMER_REAL, &every, NULL);
    unsigned char *blocks[500] = {0};
    const time_t end = time(NULL) + 2;
    while (time(NULL) < end || handled < 200)
        for (int i = 0; i < 500; ++i) {
            if (blocks[i]) expect(blocks[i][0] == (unsigned char)i);
            free(blocks[i]);
            blocks[i] = malloc((size_t)i * 11 + 1);
            expect(blocks[i]);
            memset(blocks[i], i, (size_t)i * 11 + 1);
        }
}
