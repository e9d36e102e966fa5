#include "expect.h"

/* allot_verify: how many tenants there are, no difference, no sentence; the report may be left out. */
int main(void) {
    allot_verify_report report;
    memset(&report, 0x5a, sizeof report);
    expect(allot_verify(&report) == 0);
    expect(report.tenants == 1 && report.differences == 0 && report.first[0] == '\0');
    allot_tenant *a = tenant_below(NULL, "a", NULL), *b = tenant_below(a, "b", NULL);
    void *blocks[] = {allot_malloc_in(b, 100), allot_malloc_in(a, 30000), allot_malloc_in(b, 3000000)};
    expect(allot_try_charge(b, 12345) == 0);
    expect(allot_verify(&report) == 0 && report.tenants == 3 && report.differences == 0);
    expect(allot_verify(NULL) == 0);
    expect(allot_tenant_destroy(b) == 0); /* what it leaves is found at its parent's */
    expect(allot_verify(&report) == 0 && report.tenants == 2);
    allot_uncharge(b, 12345);
    for (size_t i = 0; i < 3; ++i) allot_free(blocks[i]);
    return everything_adds_up();
}
