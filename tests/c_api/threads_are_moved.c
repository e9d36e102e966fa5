#include "expect.h"

#include <pthread.h>
#include <unistd.h>

static allot_tenant *first, *second;
static pthread_barrier_t steps;
static pid_t id;

static void *work(void *argument) {
    allot_set_active(first);
    allot_free(allot_malloc(1));
    id = gettid();
    pthread_barrier_wait(&steps);
    pthread_barrier_wait(&steps);
    void *block = allot_malloc(100);
    expect(allot_owner_of(block) == second);
    allot_free(block);
    return argument;
}

int main(void) {
    first = tenant_below(NULL, "first", NULL);
    second = tenant_below(NULL, "second", NULL);
    pthread_t thread;
    pthread_barrier_init(&steps, NULL, 2);
    expect(pthread_create(&thread, NULL, work, NULL) == 0);
    pthread_barrier_wait(&steps);
    char text[32], listed[32];
    snprintf(text, sizeof text, "%d\n", (int)id);
    expect(allot_tenant_get(first, "cgroup.threads", listed, sizeof listed) == (ssize_t)strlen(text));
    expect(strcmp(listed, text) == 0);
    expect(allot_tenant_set(second, "cgroup.threads", text) == 0);
    expect(allot_tenant_get(second, "cgroup.threads", listed, sizeof listed) > 0 && strcmp(listed, text) == 0);
    expect(allot_tenant_set(second, "cgroup.threads", "1") == -ESRCH);
    pthread_barrier_wait(&steps);
    pthread_join(thread, NULL);
    expect(allot_tenant_set(first, "cgroup.threads", "0") == 0); /* the calling thread */
    expect(allot_set_active(NULL) == first);
    return everything_adds_up();
}
