// freed SIZE|mixed: 64 MiB of objects are allocated, touched and freed in random order. Claim: what is free goes back to the
// system within about a second, without being asked (left_rss). An operation is one object.
#include "bench/harness.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>

using namespace allot::bench;

namespace {

constexpr std::uint64_t total_bytes = std::uint64_t{64} << 20;

benchmark make(const arguments &words) {
    const bool is_mixed = words[0] == "mixed";
    random_sequence random{3};
    auto sizes = std::make_shared<std::vector<std::uint32_t>>();
    for (std::uint64_t bytes = 0; bytes < total_bytes; bytes += sizes->back())
        sizes->push_back(is_mixed ? mixed_size(random) : static_cast<std::uint32_t>(number(words[0])));
    auto order = std::make_shared<std::vector<std::uint32_t>>(sizes->size());
    for (std::uint32_t i = 0; i < order->size(); ++i) (*order)[i] = i;
    for (std::uint32_t i = static_cast<std::uint32_t>(order->size()); i > 1; --i)
        std::swap((*order)[i - 1], (*order)[random.below(i)]);
    auto objects = std::make_shared<std::vector<void *>>(sizes->size());
    return {.name = join("freed", words),
            .operations_per_round = sizes->size(),
            .run =
                [sizes, order, objects](std::uint64_t rounds) {
                    for (std::uint64_t i = 0; i < rounds; ++i) {
                        for (std::size_t n = 0; n < sizes->size(); ++n) {
                            (*objects)[n] = std::malloc((*sizes)[n]);
                            touch_pages((*objects)[n], 0, (*sizes)[n]);
                        }
                        for (std::uint32_t n : *order) std::free((*objects)[n]);
                    }
                },
            .finish = [] {}};
}

} // namespace

int main(int argc, char **argv) { return run(argc, argv, "SIZE|mixed", {"mixed"}, make); }
