/* Embedding: two tenants of one process, each with its own limit; whoever frees, the owner is credited. */
#include <allot/alloc.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

int main(void) {
    allot_tenant *alice = allot_tenant_create(NULL, "alice"), *bob = allot_tenant_create(NULL, "bob");
    allot_tenant_set(alice, "memory.max", "1M");

    allot_tenant *before = allot_set_active(alice);
    void *small = allot_malloc(1000), *large = allot_malloc(2 << 20); /* the second is over her limit */
    printf("alice: %s, %s\n", small ? "served" : "refused", !large && errno == ENOMEM ? "refused" : "served");

    allot_set_active(bob);
    allot_free(small); /* credits alice, though bob is active */
    printf("alice %" PRIu64 ", bob %" PRIu64 "\n", allot_tenant_current(alice), allot_tenant_current(bob));
    allot_set_active(before);
    return allot_tenant_destroy(alice) || allot_tenant_destroy(bob);
}
