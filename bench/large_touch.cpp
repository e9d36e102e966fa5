// large_touch SIZE: malloc, touch every page, free. Claim: large objects are not paid for with a page fault a page each
// time, and keeping them does not cost memory for ever; read the time together with the peak RSS.
#include "bench/harness.hpp"

#include <cstdlib>

using namespace allot::bench;

static benchmark make(const arguments &words) {
    const std::size_t size = number(words[0]);
    return {.name = join("large_touch", words), .operations_per_round = 1, .run = [size](std::uint64_t rounds) {
                for (std::uint64_t i = 0; i < rounds; ++i) {
                    void *p = std::malloc(size);
                    touch_pages(p, 0, size);
                    std::free(p);
                }
            }};
}

int main(int argc, char **argv) { return run(argc, argv, "SIZE", {"8M"}, make); }
