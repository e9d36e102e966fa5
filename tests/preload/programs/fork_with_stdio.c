// fork takes libc's lock of the list of streams, which another thread holds while it allocates in fopen and fflush.
#include "expect.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

static atomic_int ends;
static void *open_and_flush(void *unused) {
    while (!ends) {
        FILE *file = fopen("/dev/null", "r+");
        expect(file);
        fputc('x', file);
        fflush(NULL);
        fclose(file);
    }
    return unused;
}
int main(void) {
    alarm(100);
    pthread_t threads[2];
    for (int i = 0; i < 2; ++i) expect(pthread_create(&threads[i], NULL, open_and_flush, NULL) == 0);
    for (int i = 0; i < 300; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(20);
            free(opaque(malloc(1000)));
            FILE *file = fopen("/dev/null", "r");
            fclose(file);
            _exit(0);
        }
        int status;
        expect(waitpid(child, &status, 0) == child && status == 0);
    }
    ends = 1;
    for (int i = 0; i < 2; ++i) expect(pthread_join(threads[i], NULL) == 0);
}
