#include "expect.h"

int main(void) {
    allot_tenant *web = tenant_below(NULL, "web", NULL), *api = tenant_below(web, "api", NULL);
    expect(allot_tenant_open("/") == allot_root());
    expect(allot_tenant_open("/web") == web);
    expect(allot_tenant_open("/web/api") == api);
    expect(allot_tenant_open("/web/none") == NULL && errno == ENOENT);
    expect(allot_tenant_open("web") == NULL && errno == EINVAL);
    return everything_adds_up();
}
