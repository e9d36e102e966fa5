// plugin SIZE: pair's loop in a library that the benchmark opens, as a host opens a plugin. Claim: a rule for libraries
// (ALLOT_MAP=lib:GLOB=PATH) costs those who have one tens of instructions a pair, in the library that it names and in others, and
// nobody else any. The rule is in the environment.
#include "bench/harness.hpp"

#include <cstdint>
#include <dlfcn.h>
#include <filesystem>

using namespace allot::bench;

static benchmark make(const arguments &words) {
    const std::string file = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "libplugin-pairs.so";
    void *const library = dlopen(file.c_str(), RTLD_NOW);
    if (library == nullptr) fail(dlerror());
    auto *const pairs = reinterpret_cast<void (*)(std::size_t, std::uint64_t)>(dlsym(library, "plugin_pairs"));
    if (pairs == nullptr) fail("libplugin-pairs.so has no plugin_pairs");
    const std::size_t size = number(words[0]);
    return {.name = join("plugin", words), .operations_per_round = 1, .run = [=](std::uint64_t rounds) {
                pairs(size, rounds);
            }};
}

int main(int argc, char **argv) { return run(argc, argv, "SIZE", {"64"}, make); }
