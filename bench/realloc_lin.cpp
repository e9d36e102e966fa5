// realloc_lin SIZE STEP: one buffer grows by STEP bytes at a time until it has SIZE, as a program does that appends lines;
// then it is freed. What it gained is touched, a byte a page. Claim: most steps stay in place and the rest are few enough
// that appending is not quadratic. An operation is one realloc.
#include "bench/harness.hpp"

#include <cstdlib>

using namespace allot::bench;

static benchmark make(const arguments &words) {
    const std::size_t size = number(words[0]);
    const std::size_t step = number(words[1]);
    if (size / step < 2) fail("SIZE " + words[0] + ": expected at least two steps of " + words[1]);
    const std::uint64_t steps = size / step - 1;
    return {
        .name = join("realloc_lin", words), .operations_per_round = steps, .run = [steps, step](std::uint64_t rounds) {
            for (std::uint64_t i = 0; i < rounds; ++i) {
                void *p = std::malloc(step);
                touch(p);
                for (std::uint64_t n = 1; n <= steps; ++n) {
                    p = std::realloc(p, (n + 1) * step);
                    touch_pages(p, n * step, (n + 1) * step);
                }
                std::free(p);
            }
        }};
}

int main(int argc, char **argv) { return run(argc, argv, "SIZE STEP", {"64K", "128"}, make); }
