// A handler forks in the middle of malloc and free; parent and child both go on from there.
#include "expect.h"
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

static volatile sig_atomic_t forks;
static volatile sig_atomic_t in_child;
static void handle(int number) {
    (void)number;
    if (in_child || forks >= 100) return;
    const pid_t child = fork();
    if (child == 0) {
        in_child = 1;
        alarm(20);
        return;
    }
    int status;
    while (waitpid(child, &status, 0) < 0) expect(errno == EINTR);
    expect(status == 0);
    ++forks;
}
int main(void) {
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
    const pid_t self = getpid();
    const pid_t sender = fork();
    if (sender == 0) {
        while (getppid() == self && kill(self, SIGUSR1) == 0) usleep(1000);
        _exit(0);
    }
    void *blocks[100] = {0};
    for (unsigned i = 0, left = 3000; forks < 100 && left > 0; ++i) {
        free(blocks[i % 100]);
        blocks[i % 100] = malloc(i * 37 % 5000);
        if (in_child) --left;
    }
    if (in_child) _exit(0);
    kill(sender, SIGKILL);
}
