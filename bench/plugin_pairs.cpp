// What plugin.cpp opens: malloc, touch, free, from a library.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

extern "C" void plugin_pairs(std::size_t size, std::uint64_t rounds) {
    for (std::uint64_t i = 0; i < rounds; ++i) {
        void *p = std::malloc(size);
        if (p != nullptr) *static_cast<volatile char *>(p) = 1;
        std::free(p);
    }
}
