// batch SIZE ORDER: 1000 mallocs, then 1000 frees, first in first out (0), last in first out (1) or shuffled (2).
// Claim: free lists stay cheap when many objects leave and come back, in whatever order. An operation is one malloc and
// its free.
#include "bench/harness.hpp"

#include <array>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <utility>

using namespace allot::bench;

namespace {

constexpr std::size_t batch_objects = 1000;

struct state {
    std::array<void *, batch_objects> objects;
    std::array<std::uint16_t, batch_objects> order; // the position that is freed as the nth
};

// Shuffled once: a new order each round would measure the generator as well.
void fill_order(state &s, std::uint64_t kind) {
    std::iota(s.order.begin(), s.order.end(), std::uint16_t{0});
    if (kind == 1) std::iota(s.order.rbegin(), s.order.rend(), std::uint16_t{0});
    if (kind != 2) return;
    random_sequence random{1};
    for (std::uint32_t i = batch_objects; i > 1; --i) std::swap(s.order[i - 1], s.order[random.below(i)]);
}

benchmark make(const arguments &words) {
    const std::size_t size = number(words[0]);
    if (words[1] != "0" && words[1] != "1" && words[1] != "2")
        fail("ORDER \"" + words[1] + "\": expected 0 (first in first out), 1 (last in first out) or 2 (shuffled)");
    auto s = std::make_shared<state>();
    fill_order(*s, static_cast<std::uint64_t>(words[1][0] - '0'));
    return {
        .name = join("batch", words), .operations_per_round = batch_objects, .run = [s, size](std::uint64_t rounds) {
            for (std::uint64_t i = 0; i < rounds; ++i) {
                for (void *&p : s->objects) {
                    p = std::malloc(size);
                    touch(p);
                }
                for (const std::uint16_t at : s->order) std::free(s->objects[at]);
            }
        }};
}

} // namespace

int main(int argc, char **argv) { return run(argc, argv, "SIZE ORDER", {"64", "2"}, make); }
