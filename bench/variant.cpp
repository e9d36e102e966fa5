#include "bench/variant.hpp"

#include "bench/harness.hpp"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <unistd.h>

namespace allot::bench {
namespace {

// The library, such as preload/liballot-preload.so, in the build directory that this program lies in.
std::string library_path(const char *file) {
    char self[4096];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self);
    if (length <= 0) fail("cannot read /proc/self/exe");
    std::string path{self, static_cast<std::size_t>(length)};
    for (int level = 0; level < 2; ++level) path.resize(path.rfind('/'));
    return path + "/" + file;
}

// The limits of an accounted variant: a whole tree is charged and nothing is refused.
void limit_the_default_tenant() {
    setenv("ALLOT_TENANT", "/bench/one", 0);
    setenv("ALLOT_MEMORY_MAX", "16G", 0);
    setenv("ALLOT_MEMORY_HIGH", "12G", 0);
}

constexpr char null_library[] = "preload/liballot-preload-null.so";

void *open_library(const std::string &variant_name, const char *file) {
    void *library = dlopen(library_path(file).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) fail("variant " + variant_name + ": " + dlerror());
    return library;
}

void demand_malloc(const std::string &variant_name, const variant &v) {
    if (v.malloc == nullptr || v.free == nullptr)
        fail("variant " + variant_name + ": its library has no malloc or no free");
}

template<typename Function>
void find(void *library, const char *name, Function &function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
}

} // namespace

counts variant::counted() const {
    counts all;
    if (count == nullptr) return all;
    count([](void *state, const char *name, std::uint64_t n) { static_cast<counts *>(state)->emplace_back(name, n); },
          &all);
    return all;
}

void demand_tenants(const variant &v) {
    if (has_tenants(v)) return;
    std::fputs("bench: skipped: the library shows no allot_tenant_create, allot_set_active and kin\n", stderr);
    std::exit(77);
}

variant load(const std::string &name) {
    if (name != "allot" && name != "null") fail("variant \"" + name + "\": expected allot or null");
    if (name == "allot") limit_the_default_tenant();
    void *library = open_library(name, name == "null" ? null_library : "preload/liballot-preload.so");
    variant v{};
    find(library, "malloc", v.malloc);
    find(library, "free", v.free);
    find(library, "allot_set_active", v.set_active);
    find(library, "allot_tenant_create", v.tenant_create);
    find(library, "allot_tenant_set", v.tenant_set);
    find(library, "allot_tenant_destroy", v.tenant_destroy);
    find(library, "allot_transfer", v.transfer);
    demand_malloc(name, v);
    return v;
}

variant load(const std::string &name, const engine_setting &setting) {
    variant v{};
    if (name == "null") {
        void *library = open_library(name, null_library);
        find(library, "malloc", v.malloc);
        find(library, "free", v.free);
        demand_malloc(name, v);
        return v;
    }
    void *library = open_library(name, name == "allot" ? "bench/liballot-counted.so" : "bench/liballot-linux.so");
    find(library, "allot_malloc", v.malloc);
    find(library, "allot_free", v.free);
    find(library, "allot_engine_counts", v.count);
    demand_malloc(name, v);
    engine_start *start = nullptr;
    find(library, "allot_engine_start", start);
    if (start == nullptr || v.count == nullptr) fail("variant " + name + ": its library has no engine");
    if (const char *error = start(&setting); error != nullptr) fail("variant \"" + name + "\": " + error);
    return v;
}

} // namespace allot::bench
