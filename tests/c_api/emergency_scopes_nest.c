#include "expect.h"

#include <pthread.h>

static allot_tenant *tenant;

static void *beside(void *argument) {
    (void)allot_set_active(tenant);
    expect(allot_malloc(5000) == NULL); /* the scope is another thread's */
    return argument;
}

/* A scope ends with the outermost end; one end too many ends nothing. */
int main(void) {
    tenant = tenant_below(NULL, "tenant", "64K");
    expect(allot_tenant_set(tenant, "memory.headroom", "32K") == 0);
    (void)allot_set_active(tenant);
    void *all = allot_malloc(65536);
    expect(all != NULL);
    allot_emergency_end();
    expect(allot_malloc(5000) == NULL);
    allot_emergency_begin();
    allot_emergency_begin();
    void *first = allot_malloc(5000);
    allot_emergency_end();
    void *second = allot_malloc(5000);
    expect(first != NULL && second != NULL);
    pthread_t thread;
    expect(pthread_create(&thread, NULL, beside, NULL) == 0 && pthread_join(thread, NULL) == 0);
    expect(allot_malloc(32768) == NULL); /* more than the headroom */
    allot_emergency_end();
    expect(allot_malloc(5000) == NULL);
    expect(keyed(tenant, "memory.stat", "headroom") == 2);
    allot_free(first);
    allot_free(second);
    allot_free(all);
    (void)allot_set_active(NULL);
    expect(allot_tenant_current(tenant) == 0);
    return everything_adds_up();
}
