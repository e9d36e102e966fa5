// Three hundred forks while four threads allocate: every child can allocate, free and have a thread.
#include "churn.h"
#include <sys/wait.h>

int main(void) {
    churn_start();
    void *inherited = malloc(1000);
    for (int i = 0; i < 300; ++i) {
        const pid_t child = fork();
        expect(child >= 0);
        if (child == 0) {
            child_work();
            free(inherited);
            if (i % 16 == 0) {
                pthread_t thread;
                expect(pthread_create(&thread, NULL, small_work, NULL) == 0);
                expect(pthread_join(thread, NULL) == 0);
            }
            _exit(0);
        }
        int status;
        expect(waitpid(child, &status, 0) == child);
        expect(status == 0);
    }
    churn_stop();
}
