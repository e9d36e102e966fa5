// A missing symbol is searched in a constructor and as the first act of main; dlerror's text is allocated.
#include "expect.h"
#include <dlfcn.h>

static void search(void) {
    expect(dlsym(RTLD_DEFAULT, "no_such_symbol_anywhere") == NULL);
    expect(strstr(dlerror(), "no_such_symbol_anywhere"));
    expect(dlsym(RTLD_NEXT, "malloc") != NULL);
}
__attribute__((constructor(101))) static void early(void) { search(); }
int main(void) { search(); }
