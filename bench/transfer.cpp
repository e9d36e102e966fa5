// transfer WHICH: gives a block to another tenant. WHICH is `again` (one block of 4 KiB goes to and fro: what every
// transfer costs), `first` (a slab is filled with blocks, the last one is given away, all are freed: what the first one out of a slab costs
// as well) or `none` (the same without it, to be subtracted). Claim: microseconds, at most 20 for the first out of a slab. An
// operation is one transfer, or one such slab.
#include "bench/harness.hpp"
#include "bench/variant.hpp"

#include <memory>

using namespace allot::bench;

namespace {

constexpr std::size_t block_bytes = 4096, slab_blocks = 256 * 1024 / block_bytes;

struct state {
    variant v;
    bool fills, gives;
    allot_tenant *from, *to;
    std::vector<void *> blocks;
};

void give(state &s, void *block, allot_tenant *to) {
    if (s.v.transfer(block, to) != 0) fail("allot_transfer refused");
}

void to_and_fro(state &s, std::uint64_t rounds) {
    s.v.set_active(s.from);
    void *p = s.v.malloc(block_bytes);
    for (std::uint64_t i = 0; i < rounds; ++i) give(s, p, i % 2 == 0 ? s.to : s.from);
    s.v.free(p);
}

void slabs(state &s, std::uint64_t rounds) {
    s.v.set_active(s.from);
    for (std::uint64_t i = 0; i < rounds; ++i) {
        for (std::size_t n = 0; n < slab_blocks; ++n) s.blocks.push_back(s.v.malloc(block_bytes));
        if (s.gives) give(s, s.blocks.back(), s.to);
        for (void *p : s.blocks) s.v.free(p);
        s.blocks.clear();
    }
}

benchmark make(const arguments &words) {
    if (words[0] != "again" && words[0] != "first" && words[0] != "none")
        fail("WHICH \"" + words[0] + "\": expected again, first or none");
    auto s = std::make_shared<state>();
    s->fills = words[0] != "again";
    s->gives = words[0] == "first";
    s->v = load("allot");
    demand_tenants(s->v);
    s->from = s->v.tenant_create(nullptr, "from");
    s->to = s->v.tenant_create(nullptr, "to");
    s->blocks.reserve(slab_blocks);
    return {.name = join("transfer", words), .operations_per_round = 1, .run = [s](std::uint64_t rounds) {
                if (s->fills)
                    slabs(*s, rounds);
                else
                    to_and_fro(*s, rounds);
            }};
}

} // namespace

int main(int argc, char **argv) { return run(argc, argv, "again|first|none", {"first"}, make); }
