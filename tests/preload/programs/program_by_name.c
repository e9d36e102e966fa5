// /small may use 4 MiB, and this program is in it by its name, all of its threads.
#include "expect.h"
#include <pthread.h>

static void *refused(void *unused) {
    (void)unused;
    return malloc(opaque_size(6 << 20));
}
int main(void) {
    pthread_t thread;
    void *answer;
    expect(refused(NULL) == NULL && malloc(2 << 20) != NULL);
    expect(pthread_create(&thread, NULL, refused, NULL) == 0 && pthread_join(thread, &answer) == 0);
    expect(answer == NULL);
}
