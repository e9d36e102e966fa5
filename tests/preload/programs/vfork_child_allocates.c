// A vfork child uses its parent's memory: what it allocates is the parent's to free, and nothing breaks.
#include "churn.h"
#include <sys/wait.h>

static void *volatile shared[100];
int main(void) {
    for (volatile int round = 0; round < 50; ++round) {
        const pid_t child = vfork();
        if (child == 0) {
            for (int i = 0; i < 100; ++i) shared[i] = malloc((size_t)(i + 1) * 40);
            for (int i = 0; i < 100; i += 2) free(shared[i]);
            _exit(0);
        }
        int status;
        expect(waitpid(child, &status, 0) == child && status == 0);
        for (int i = 1; i < 100; i += 2) {
            memset(shared[i], 7, (size_t)(i + 1) * 40);
            free(shared[i]);
        }
    }
}
