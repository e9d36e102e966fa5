// churn SIZE LIVE: a set of LIVE objects; each operation frees a random one and allocates another in its place. SIZE is
// a number or `mixed` (16 to 1024 bytes, as many small as large ones on a logarithmic scale). Claim: a heap in use, whose
// free slots lie scattered, is hardly slower than a fresh one.
#include "bench/harness.hpp"

#include <cstdlib>
#include <memory>

using namespace allot::bench;

namespace {

constexpr std::size_t script_steps = 16384;

// What to replace and by what, generated beforehand so that the loop reads 4 bytes in order and computes nothing.
struct step {
    std::uint16_t index;
    std::uint16_t size;
};

struct state {
    std::vector<void *> live;
    std::vector<step> script;
};

std::shared_ptr<state> make_state(const arguments &words) {
    const bool is_mixed = words[0] == "mixed";
    const std::uint64_t size = is_mixed ? 0 : number(words[0]);
    const std::uint64_t live = number(words[1]);
    if (size > 65535 || live > 65535) fail("churn: SIZE and LIVE are at most 65535");
    random_sequence random{2};
    auto s = std::make_shared<state>();
    for (std::size_t i = 0; i < script_steps; ++i)
        s->script.push_back({static_cast<std::uint16_t>(random.below(static_cast<std::uint32_t>(live))),
                             is_mixed ? mixed_size(random) : static_cast<std::uint16_t>(size)});
    for (std::uint64_t i = 0; i < live; ++i) {
        s->live.push_back(std::malloc(is_mixed ? mixed_size(random) : size));
        touch(s->live.back());
    }
    return s;
}

benchmark make(const arguments &words) {
    auto s = make_state(words);
    return {.name = join("churn", words), .operations_per_round = script_steps, .run = [s](std::uint64_t rounds) {
                void **live = s->live.data();
                for (std::uint64_t i = 0; i < rounds; ++i)
                    for (const step &now : s->script) {
                        std::free(live[now.index]);
                        live[now.index] = std::malloc(now.size);
                        touch(live[now.index]);
                    }
            }};
}

} // namespace

int main(int argc, char **argv) { return run(argc, argv, "SIZE|mixed LIVE", {"mixed", "4096"}, make); }
