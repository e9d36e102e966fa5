// Threads get their argument and give their result, may end by pthread_exit or be cancelled with their clean-ups run,
// and attributes and errors are libc's.
#include "expect.h"
#include <pthread.h>
#include <sys/prctl.h>

static int cleaned;
static void clean(void *unused) {
    (void)unused;
    ++cleaned;
}
static void *give_back(void *argument) { return argument; }
static void *exits(void *argument) {
    pthread_cleanup_push(clean, NULL);
    pthread_exit(argument);
    pthread_cleanup_pop(0);
    return NULL;
}
static void *waits(void *unused) {
    pthread_cleanup_push(clean, NULL);
    for (;;) pause();
    pthread_cleanup_pop(0);
    return unused;
}
static void *stack_size(void *unused) {
    (void)unused;
    pthread_attr_t attributes;
    size_t size;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstacksize(&attributes, &size);
    pthread_attr_destroy(&attributes);
    return (void *)size;
}
static void *run(void *(*routine)(void *), void *argument, const pthread_attr_t *attributes, int cancel) {
    pthread_t thread;
    void *result;
    expect(pthread_create(&thread, attributes, routine, argument) == 0);
    if (cancel) {
        usleep(20000);
        expect(pthread_cancel(thread) == 0);
    }
    expect(pthread_join(thread, &result) == 0);
    return result;
}
int main(void) {
    expect(run(give_back, &cleaned, NULL, 0) == &cleaned);
    expect(run(exits, &cleaned, NULL, 0) == &cleaned && cleaned == 1);
    expect(run(waits, NULL, NULL, 1) == PTHREAD_CANCELED && cleaned == 2);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 1 << 20);
    const size_t size = (size_t)run(stack_size, NULL, &attributes, 0);
    expect(size >= 1u << 20 && size < 1200u << 10);
    pthread_attr_setstacksize(&attributes, (size_t)1 << 46);
    pthread_t thread;
    expect(pthread_create(&thread, &attributes, give_back, NULL) == EAGAIN);
    char name[16];
    expect(pthread_setname_np(pthread_self(), "sixteen or more characters") == ERANGE);
    expect(pthread_setname_np(pthread_self(), "renamed") == 0);
    expect(prctl(PR_GET_NAME, name) == 0 && strcmp(name, "renamed") == 0);
}
