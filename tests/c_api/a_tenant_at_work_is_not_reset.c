#include "expect.h"

#include <pthread.h>

static pthread_barrier_t steps;
static allot_tenant *request;

static void *work(void *argument) {
    (void)allot_set_active(request);
    pthread_barrier_wait(&steps);
    pthread_barrier_wait(&steps);
    (void)allot_set_active(NULL);
    pthread_barrier_wait(&steps);
    pthread_barrier_wait(&steps);
    return argument;
}

/* Where another thread has the tenant active, a reset is refused and frees nothing; the caller may have it active. */
int main(void) {
    request = tenant_below(NULL, "request", NULL);
    void *block = allot_malloc_in(request, 1000);
    uint64_t used = allot_tenant_current(request);
    pthread_t thread;
    expect(pthread_barrier_init(&steps, NULL, 2) == 0);
    expect(pthread_create(&thread, NULL, work, NULL) == 0);
    pthread_barrier_wait(&steps);
    expect(allot_tenant_reset(request) == -EBUSY);
    expect(allot_tenant_current(request) == used && allot_owner_of(block) == request);
    pthread_barrier_wait(&steps);
    pthread_barrier_wait(&steps);
    (void)allot_set_active(request);
    expect(allot_tenant_reset(request) == 0);
    expect(allot_tenant_current(request) == 0);
    expect(allot_set_active(NULL) == request); /* it lives on */
    pthread_barrier_wait(&steps);
    expect(pthread_join(thread, NULL) == 0);
    return everything_adds_up();
}
