// calloc SIZE: calloc, read, dirty one byte in every page, free. Claim: memory known to be zero is not cleared again, and
// the rest is cleared no slower than memset does it. The first and last byte are checked, so that a calloc that returned
// old bytes stops the benchmark.
#include "bench/harness.hpp"

#include <cstdlib>

using namespace allot::bench;

static benchmark make(const arguments &words) {
    const std::size_t size = number(words[0]);
    return {.name = join("calloc", words), .operations_per_round = 1, .run = [size](std::uint64_t rounds) {
                for (std::uint64_t i = 0; i < rounds; ++i) {
                    auto *p = static_cast<volatile char *>(std::calloc(1, size));
                    if (p == nullptr || p[0] != 0 || p[size - 1] != 0) std::abort();
                    touch_pages(const_cast<char *>(p), 0, size);
                    p[size - 1] = 1;
                    std::free(const_cast<char *>(p));
                }
            }};
}

int main(int argc, char **argv) { return run(argc, argv, "SIZE", {"4096"}, make); }
