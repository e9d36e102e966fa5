// Destructors of thread-specific data allocate, free and set themselves again, after the allocator's own has run.
#include "expect.h"
#include <pthread.h>

static pthread_key_t keys[8];
static void destroy(void *value) {
    char *text = value;
    const int rounds = text[0];
    free(opaque(malloc(50000)));
    free(text);
    if (rounds == 0) return;
    char *again = malloc(100 + (size_t)rounds);
    again[0] = (char)(rounds - 1);
    for (int i = 0; i < 8; ++i)
        if (!pthread_getspecific(keys[i])) {
            pthread_setspecific(keys[i], again);
            return;
        }
    free(again);
}
static void *run(void *unused) {
    for (int i = 0; i < 8; ++i) {
        char *value = malloc(64);
        value[0] = 2;
        pthread_setspecific(keys[i], value);
    }
    return unused;
}
int main(void) {
    for (int i = 0; i < 8; ++i) expect(pthread_key_create(&keys[i], destroy) == 0);
    for (int i = 0; i < 50; ++i) {
        pthread_t thread;
        expect(pthread_create(&thread, NULL, run, NULL) == 0);
        expect(pthread_join(thread, NULL) == 0);
    }
}
