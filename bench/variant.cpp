#include "bench/variant.hpp"

#include "bench/harness.hpp"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <unistd.h>

namespace allot::bench {
namespace {

// The library in the build directory that this program lies in.
std::string library_path(const char *file) {
    char self[4096];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self);
    if (length <= 0) fail("cannot read /proc/self/exe");
    std::string path{self, static_cast<std::size_t>(length)};
    for (int level = 0; level < 2; ++level) path.resize(path.rfind('/'));
    return path + "/preload/" + file;
}

// The limits of an accounted variant: a whole tree is charged and nothing is refused.
void limit_the_default_tenant() {
    setenv("ALLOT_TENANT", "/bench/one", 0);
    setenv("ALLOT_MEMORY_MAX", "16G", 0);
    setenv("ALLOT_MEMORY_HIGH", "12G", 0);
}

template<typename Function>
void find(void *library, const char *name, Function &function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
}

} // namespace

void demand_tenants(const variant &v) {
    if (has_tenants(v)) return;
    std::fputs("bench: skipped: the library shows no allot_tenant_create, allot_set_active and kin\n", stderr);
    std::exit(77);
}

variant load(const std::string &name) {
    if (name != "allot" && name != "null") fail("variant \"" + name + "\": expected allot or null");
    if (name == "allot") limit_the_default_tenant();
    const std::string path = library_path(name == "null" ? "liballot-preload-null.so" : "liballot-preload.so");
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) fail(std::string{"variant "} + name + ": " + dlerror());
    variant v{};
    find(library, "malloc", v.malloc);
    find(library, "free", v.free);
    find(library, "allot_set_active", v.set_active);
    find(library, "allot_tenant_create", v.tenant_create);
    find(library, "allot_tenant_set", v.tenant_set);
    find(library, "allot_tenant_destroy", v.tenant_destroy);
    find(library, "allot_transfer", v.transfer);
    if (v.malloc == nullptr || v.free == nullptr) fail(path + " has no malloc or no free");
    return v;
}

} // namespace allot::bench
