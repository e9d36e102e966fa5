// aligned ALIGNMENT SIZE: one object at a time, at a multiple of ALIGNMENT. Claim: asking for an alignment costs no more
// than not asking. An operation is one aligned_alloc, a touch and one free.
#include "bench/harness.hpp"

#include <cstdlib>

using namespace allot::bench;

namespace {

benchmark make(const arguments &words) {
    const std::size_t alignment = number(words[0]);
    const std::size_t size = number(words[1]);
    if ((alignment & (alignment - 1)) != 0) fail("ALIGNMENT " + words[0] + ": expected a power of two");
    if (size % alignment != 0) fail("SIZE " + words[1] + ": expected a multiple of the alignment");
    return {.name = join("aligned", words), .operations_per_round = 1, .run = [alignment, size](std::uint64_t rounds) {
                for (std::uint64_t i = 0; i < rounds; ++i) {
                    void *p = std::aligned_alloc(alignment, size);
                    touch(p);
                    std::free(p);
                }
            }};
}

} // namespace

int main(int argc, char **argv) { return run(argc, argv, "ALIGNMENT SIZE", {"64", "256"}, make); }
