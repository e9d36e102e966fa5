#include "expect.h"

int main(void) {
    char name[100];
    memset(name, 'n', sizeof name);
    name[ALLOT_TENANT_NAME_MAX + 1] = '\0';
    expect(allot_tenant_create(NULL, name) == NULL && errno == ENAMETOOLONG);
    name[ALLOT_TENANT_NAME_MAX] = '\0';
    expect(allot_tenant_create(NULL, name) != NULL);
    expect(allot_tenant_create(NULL, name) == NULL && errno == EEXIST);
    const char *bad[] = {"", ".", "..", "a/b", "a\nb", "\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i)
        expect(allot_tenant_create(NULL, bad[i]) == NULL && errno == EINVAL);
    return everything_adds_up();
}
