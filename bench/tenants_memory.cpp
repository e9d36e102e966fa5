// tenants_memory TENANTS OBJECTS VARIANT: TENANTS tenants, each with OBJECTS objects of 16 to 1024 bytes, served in turn
// so that their allocations interleave; prints what the process's memory grew by beyond the bytes that live. Claim: a
// thousand small tenants cost little more memory than the same objects without tenants.
//
// Not a benchmark of time, so it has a line of its own:
// `tenants_memory/1000/20/allot live 10500000 resident 11600000 overhead 10.5 %`.
#include "bench/harness.hpp"
#include "bench/variant.hpp"

#include <cstdio>
#include <cstdlib>

using namespace allot::bench;

namespace {

std::uint64_t resident_bytes() {
    std::FILE *file = std::fopen("/proc/self/statm", "re");
    unsigned long long pages = 0;
    if (file == nullptr || std::fscanf(file, "%*u %llu", &pages) != 1) fail("cannot read /proc/self/statm");
    std::fclose(file);
    return pages * 4096;
}

std::vector<allot_tenant *> make_tenants(const variant &v, std::uint64_t count) {
    std::vector<allot_tenant *> tenants(count, nullptr);
    for (std::uint64_t i = 0; has_tenants(v) && i < count; ++i)
        if ((tenants[i] = v.tenant_create(nullptr, ("t" + std::to_string(i)).c_str())) == nullptr)
            fail("cannot create tenant " + std::to_string(i));
    return tenants;
}

// Bytes asked for, all written.
std::uint64_t populate(const variant &v, const std::vector<allot_tenant *> &tenants, std::uint64_t objects) {
    random_sequence random{3};
    std::uint64_t live = 0;
    for (std::uint64_t round = 0; round < objects; ++round)
        for (allot_tenant *tenant : tenants) {
            if (has_tenants(v)) v.set_active(tenant);
            const std::size_t size = 16 + random.below(1009);
            volatile char *p = static_cast<char *>(v.malloc(size));
            if (p == nullptr) fail("an allocation was refused");
            for (std::size_t at = 0; at < size; ++at) p[at] = 1;
            live += size;
        }
    return live;
}

} // namespace

int main(int argc, char **argv) {
    arguments words{argv + 1, argv + argc};
    const arguments defaults{"1000", "20", "allot"};
    if (words.size() > defaults.size()) fail("expected TENANTS OBJECTS VARIANT");
    words.insert(words.end(), defaults.begin() + static_cast<std::ptrdiff_t>(words.size()), defaults.end());
    const variant v = load(words[2]);
    if (words[2] == "allot") demand_tenants(v);
    v.free(v.malloc(64)); // what a first allocation sets up is not the tenants'
    const std::vector<allot_tenant *> tenants = make_tenants(v, number(words[0]));
    const std::uint64_t before = resident_bytes();
    const std::uint64_t live = populate(v, tenants, number(words[1]));
    const std::uint64_t resident = resident_bytes() - before;
    std::printf("%s live %llu resident %llu overhead %.1f %%\n", join("tenants_memory", words).c_str(),
                static_cast<unsigned long long>(live), static_cast<unsigned long long>(resident),
                100.0 * (static_cast<double>(resident) / static_cast<double>(live) - 1));
    return 0;
}
