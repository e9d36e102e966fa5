// A plugin opened with RTLD_DEEPBIND and without crosses memory with its host. It is found by the host's own RUNPATH,
// which the real dlopen knows by its caller's address.
#include "expect.h"
#include <dlfcn.h>
#include <malloc.h>

int main(void) {
    const int modes[] = {RTLD_NOW, RTLD_LAZY | RTLD_DEEPBIND, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND};
    for (int i = 0; i < 3; ++i) {
        void *plugin = dlopen("libplugin_of_test.so", modes[i]);
        if (!plugin) puts(dlerror());
        expect(plugin);
        char *(*make)(void) = (char *(*)(void))dlsym(plugin, "plugin_make");
        void (*end)(void *) = (void (*)(void *))dlsym(plugin, "plugin_free");
        char *text = make();
        expect(strcmp(text, "made by the plugin") == 0 && malloc_usable_size(text) >= 19);
        free(text);
        end(strdup("made by the host"));
        expect(dlclose(plugin) == 0);
    }
    expect(dlopen("libno_such_library.so", RTLD_NOW | RTLD_DEEPBIND) == NULL && dlerror());
    void *self = dlopen(NULL, RTLD_NOW);
    expect(self && dlsym(self, "malloc"));
}
