// Children made by _Fork and by raw clone run no fork handlers; they can allocate and free all the same.
#include "churn.h"
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static pid_t raw_clone(void) { return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); }
int main(void) {
    churn_start();
    pid_t (*const makers[])(void) = {_Fork, raw_clone};
    for (int i = 0; i < 100; ++i) {
        void *inherited = malloc(500);
        const pid_t child = makers[i % 2]();
        expect(child >= 0);
        if (child == 0) {
            child_work();
            free(inherited);
            _exit(0);
        }
        int status;
        expect(waitpid(child, &status, 0) == child);
        expect(status == 0);
        free(inherited);
    }
    churn_stop();
}
