// A thread stuck while it prints statistics into a full pipe stops no other from allocating. Cancelled, it goes on to
// the end of its printing, and stderr stays usable.
#include "expect.h"
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>

static void *print(void *unused) {
    malloc_stats();
    pthread_testcancel();
    return unused;
}
int main(void) {
    alarm(30);
    int ends[2];
    expect(pipe(ends) == 0);
    const int console = dup(2);
    expect(dup2(ends[1], 2) == 2);
    static char filling[65536];
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    while (write(ends[1], filling, sizeof filling) > 0 || write(ends[1], filling, 1) > 0) continue;
    fcntl(ends[1], F_SETFL, 0);
    pthread_t thread;
    expect(pthread_create(&thread, NULL, print, NULL) == 0);
    usleep(100000);
    for (size_t size = 1; size < 10u << 20; size *= 2) free(opaque(malloc(size)));
    (void)mallinfo2();
    expect(pthread_cancel(thread) == 0);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    void *result = NULL;
    for (int tries = 0; tries < 200 && pthread_tryjoin_np(thread, &result) != 0; ++tries) {
        while (read(ends[0], filling, sizeof filling) > 0) continue;
        usleep(10000);
    }
    dup2(console, 2);
    expect(result == PTHREAD_CANCELED);
    free(opaque(malloc(1000)));
}
