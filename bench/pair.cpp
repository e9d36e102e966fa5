// pair SIZE: malloc, touch, free, again and again. Claim: the shortest path, when the object just freed is the next one
// handed out, costs a few nanoseconds.
#include "bench/harness.hpp"

#include <cstdlib>

using namespace allot::bench;

static benchmark make(const arguments &words) {
    const std::size_t size = number(words[0]);
    return {.name = join("pair", words), .operations_per_round = 1, .run = [size](std::uint64_t rounds) {
                for (std::uint64_t i = 0; i < rounds; ++i) {
                    void *p = std::malloc(size);
                    touch(p);
                    std::free(p);
                }
            }};
}

int main(int argc, char **argv) { return run(argc, argv, "SIZE", {"64"}, make); }
