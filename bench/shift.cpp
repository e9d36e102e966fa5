// shift MIB: MIB of live objects, and what they are shifts: for a while most are tiny, then of some hundred bytes, then of
// kilobytes, then mixed, and again; each phase replaces all there is twice over, in random order. Claim: memory that one
// phase has used serves the next, whatever its sizes: peak RSS stays near MIB. An operation is one replacement.
#include "bench/harness.hpp"

#include <cstdlib>
#include <memory>

using namespace allot::bench;

namespace {

struct phase {
    std::uint32_t least, most; // bytes
};
constexpr phase phases[] = {{16, 64}, {200, 600}, {2000, 6000}, {16, 6000}, {48, 96}, {9000, 40000}, {100, 140}};

struct object {
    void *bytes;
    std::uint32_t size;
};

struct state {
    std::vector<object> live;
    random_sequence random{9};
    std::uint64_t live_bytes = 0;
    std::uint64_t budget;
};

void free_a_random_one(state &s) {
    object &chosen = s.live[s.random.below(static_cast<std::uint32_t>(s.live.size()))];
    s.live_bytes -= chosen.size;
    std::free(chosen.bytes);
    chosen = s.live.back();
    s.live.pop_back();
}

// Frees as much as it takes, and allocates one: one operation, whatever was freed for it.
void replace(state &s, const phase &now) {
    const std::uint32_t size = now.least + s.random.below(now.most - now.least + 1);
    while (s.live_bytes + size > s.budget) free_a_random_one(s);
    void *p = std::malloc(size);
    touch_pages(p, 0, size);
    s.live.push_back({p, size});
    s.live_bytes += size;
}

std::uint64_t replacements(std::uint64_t budget, const phase &now) { return 2 * budget / ((now.least + now.most) / 2); }

benchmark make(const arguments &words) {
    const std::uint64_t budget = number(words[0]) << 20;
    if (budget > std::uint64_t{4096} << 20) fail("MIB " + words[0] + ": at most 4096");
    auto s = std::make_shared<state>();
    s->budget = budget;
    s->live.reserve(budget / 16); // so that the benchmark's own memory does not change meanwhile
    std::uint64_t operations = 0;
    for (const phase &now : phases) operations += replacements(budget, now);
    return {.name = join("shift", words),
            .operations_per_round = operations,
            .run =
                [s](std::uint64_t rounds) {
                    for (std::uint64_t i = 0; i < rounds; ++i)
                        for (const phase &now : phases)
                            for (std::uint64_t n = replacements(s->budget, now); n != 0; --n) replace(*s, now);
                },
            .finish =
                [s] {
                    while (!s->live.empty()) free_a_random_one(*s);
                }};
}

} // namespace

int main(int argc, char **argv) { return run(argc, argv, "MIB", {"16"}, make); }
