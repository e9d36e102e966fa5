// Handlers of fork allocate and free, before and after, in the parent and in the child.
#include "churn.h"
#include <sys/wait.h>

static void *kept;
static void prepare(void) { kept = malloc(300); }
static void after(void) {
    free(kept);
    free(opaque(malloc(70000)));
}
int main(void) {
    alarm(100);
    expect(pthread_atfork(prepare, after, after) == 0);
    churn_start();
    for (int i = 0; i < 100; ++i) {
        const pid_t child = fork();
        if (child == 0) _exit(0);
        int status;
        expect(waitpid(child, &status, 0) == child && status == 0);
    }
    churn_stop();
}
