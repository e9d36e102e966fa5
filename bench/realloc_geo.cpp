// realloc_geo SIZE: one buffer grows from 16 bytes by half its size at a time, as vectors and strings do, until it has
// SIZE; then it is freed. What it gained is touched, a byte a page. Claim: growth copies little, and large buffers move by
// remapping. An operation is one realloc.
#include "bench/harness.hpp"

#include <cstdlib>

using namespace allot::bench;

namespace {

constexpr std::size_t first_bytes = 16;

std::size_t grown(std::size_t bytes, std::size_t limit) {
    const std::size_t next = bytes + bytes / 2;
    return next < limit ? next : limit;
}

benchmark make(const arguments &words) {
    const std::size_t limit = number(words[0]);
    if (limit <= first_bytes) fail("SIZE " + words[0] + ": expected more than 16");
    std::uint64_t steps = 0;
    for (std::size_t bytes = first_bytes; bytes != limit; bytes = grown(bytes, limit)) ++steps;
    return {.name = join("realloc_geo", words), .operations_per_round = steps, .run = [limit](std::uint64_t rounds) {
                for (std::uint64_t i = 0; i < rounds; ++i) {
                    void *p = std::malloc(first_bytes);
                    touch(p);
                    for (std::size_t bytes = first_bytes; bytes != limit;) {
                        const std::size_t next = grown(bytes, limit);
                        p = std::realloc(p, next);
                        touch_pages(p, bytes, next);
                        bytes = next;
                    }
                    std::free(p);
                }
            }};
}

} // namespace

int main(int argc, char **argv) { return run(argc, argv, "SIZE", {"1M"}, make); }
