#include "cache.h"

static size_t nothing(void *argument) { return argument == NULL ? 0 : 1; }
static size_t give_nothing(void *argument, size_t bytes) { return argument == NULL ? 0 : bytes; }
static void ignore(allot_tenant *tenant, enum allot_event event, uint64_t count, void *argument) {
    (void)event, (void)count, (void)argument;
    expect(tenant == allot_root());
}

/* Wherever a tenant is named, NULL names the root; but the root cannot end. */
int main(void) {
    allot_tenant *root = allot_root(), *tenant = allot_tenant_create(NULL, "tenant");
    expect(root != NULL && tenant != NULL && allot_tenant_open("/tenant") == tenant);
    expect(allot_tenant_create(root, "tenant") == NULL && errno == EEXIST);
    uint64_t before = allot_tenant_current(root);
    expect(allot_tenant_current(NULL) == before);
    expect(allot_try_charge(NULL, 1000) == 0);
    expect(allot_tenant_current(root) == before + 1000 && allot_tenant_current(NULL) == before + 1000);
    allot_uncharge(root, 400);
    allot_uncharge(NULL, 600);
    expect(allot_tenant_current(root) == before);

    void *block = allot_malloc_in(NULL, 100), *other = allot_malloc_in(tenant, 100);
    expect(allot_owner_of(block) == root && allot_owner_of(other) == tenant);
    expect(allot_transfer(other, NULL) == 0 && allot_owner_of(other) == root);
    allot_free(block);
    allot_free(other);

    char text[64];
    expect(allot_tenant_set(NULL, "memory.low", "1M") == 0);
    expect(allot_tenant_get(root, "memory.low", text, sizeof text) == 8 && strcmp(text, "1048576\n") == 0);
    expect(allot_tenant_set(root, "memory.low", "0") == 0);
    expect(allot_tenant_get(NULL, "memory.low", text, sizeof text) == 2 && strcmp(text, "0\n") == 0);

    int shrinker = allot_shrinker_register(NULL, nothing, give_nothing, NULL);
    int listener = allot_on_event(NULL, ALLOT_EVENT_BIT(allot_event_oom), ignore, NULL);
    int fd = allot_event_fd(NULL, ALLOT_EVENT_BIT(allot_event_oom));
    expect(shrinker > 0 && listener > 0 && fd >= 0);
    expect(allot_shrinker_unregister(shrinker) == 0 && allot_off_event(listener) == 0);
    expect(allot_event_fd_close(fd) == 0);

    expect(allot_tenant_destroy(NULL) == -EBUSY && allot_tenant_destroy(root) == -EBUSY);
    expect(allot_tenant_reset(NULL) == -EINVAL && allot_tenant_reset(root) == -EINVAL);
    expect(allot_set_active(NULL) == root && allot_set_active(root) == root);
    return everything_adds_up();
}
