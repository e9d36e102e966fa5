// Threads come and go and leave blocks to the main thread, which frees them long after their heaps are gone.
#include "expect.h"
#include <pthread.h>

static void *leave_blocks(void *unused) {
    (void)unused;
    void **blocks = malloc(50 * sizeof *blocks);
    for (size_t i = 0; i < 50; ++i) memset(blocks[i] = malloc(i * 60 + 1), 9, i * 60 + 1);
    return blocks;
}
int main(void) {
    void **left[400];
    for (int i = 0; i < 400; ++i) {
        pthread_t thread;
        expect(pthread_create(&thread, NULL, leave_blocks, NULL) == 0);
        expect(pthread_join(thread, (void **)&left[i]) == 0);
    }
    for (int i = 0; i < 400; ++i) {
        for (size_t n = 0; n < 50; ++n) {
            expect(n == 0 || ((char *)left[i][n])[n * 60] == 9);
            free(left[i][n]);
        }
        free(left[i]);
    }
}
