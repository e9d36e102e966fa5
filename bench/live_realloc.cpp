// live_realloc LIVE: LIVE buffers, of which a random one grows by half at a time, from 16 bytes to 64 KiB, and begins anew.
// Claim: growth is cheap also where neighbours are in use. An operation is one realloc (or the free and malloc at the end).
#include "bench/harness.hpp"

#include <cstdlib>
#include <memory>

using namespace allot::bench;

namespace {

constexpr std::size_t first_bytes = 16, most_bytes = 65536;
constexpr std::uint64_t operations = 4096;

struct buffer {
    void *bytes;
    std::size_t size;
};

struct state {
    std::vector<buffer> live;
    random_sequence random{5};
};

void grow_or_begin_anew(buffer &b) {
    const std::size_t old = b.size;
    b.size = old < most_bytes ? old + old / 2 : first_bytes;
    if (old < most_bytes) {
        b.bytes = std::realloc(b.bytes, b.size);
        touch_pages(b.bytes, old, b.size);
    } else {
        std::free(b.bytes);
        b.bytes = std::malloc(b.size);
        touch(b.bytes);
    }
}

benchmark make(const arguments &words) {
    const std::uint64_t count = number(words[0]);
    if (count > 65536) fail("LIVE " + words[0] + ": at most 65536");
    auto s = std::make_shared<state>();
    for (std::uint64_t i = 0; i < count; ++i) s->live.push_back({std::malloc(first_bytes), first_bytes});
    // From the start the buffers are of all sizes, as they stay.
    for (buffer &b : s->live)
        for (std::uint32_t steps = s->random.below(21); steps != 0; --steps) grow_or_begin_anew(b);
    return {.name = join("live_realloc", words),
            .operations_per_round = operations,
            .run =
                [s](std::uint64_t rounds) {
                    for (std::uint64_t i = 0; i < rounds * operations; ++i)
                        grow_or_begin_anew(s->live[s->random.below(static_cast<std::uint32_t>(s->live.size()))]);
                },
            .finish =
                [s] {
                    for (buffer &b : s->live) std::free(b.bytes);
                    s->live.clear();
                }};
}

} // namespace

int main(int argc, char **argv) { return run(argc, argv, "LIVE", {"1000"}, make); }
