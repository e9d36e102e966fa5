// line_transfer home|moved: one locked addition to a line that this CPU has (home), or that another CPU has just written
// (moved). Claim: none of allot's; it measures what a shared read-modify-write costs on this machine, which is the one
// parameter of the model in model/. An operation is one addition, by wall time.
#include "bench/crew.hpp"
#include "bench/harness.hpp"

#include <atomic>
#include <memory>
#include <sched.h>

using namespace allot::bench;

namespace {

struct state {
    // Added to by both threads in turn: who finds it odd or even, by its number, is next. Relaxed: nothing else is told.
    alignas(128) std::atomic<std::uint64_t> turn{0};
    std::unique_ptr<crew> threads;
};

void add_at_home(state &s, std::uint64_t rounds) {
    for (std::uint64_t i = 0; i < rounds; ++i) s.turn.fetch_add(1, std::memory_order_relaxed);
}

void add_in_turn(state &s, std::uint64_t member, std::uint64_t rounds) {
    for (std::uint64_t i = 0; i < rounds; ++i) {
        // The other may have lost its CPU, on a machine that others use.
        for (unsigned spins = 0; (s.turn.load(std::memory_order_relaxed) & 1) != member;)
            if (++spins % 4096 == 0) sched_yield();
        s.turn.fetch_add(1, std::memory_order_relaxed);
    }
}

benchmark make(const arguments &words) {
    const bool moved = words[0] == "moved";
    if (!moved && words[0] != "home") fail(words[0] + ": expected home or moved");
    auto s = std::make_shared<state>();
    s->threads = std::make_unique<crew>(moved ? 2 : 1, [raw = s.get(), moved](unsigned member, std::uint64_t rounds) {
        moved ? add_in_turn(*raw, member, rounds) : add_at_home(*raw, rounds);
    });
    return {.name = join("line_transfer", words),
            .operations_per_round = moved ? 2u : 1u,
            .run = [s](std::uint64_t rounds) { s->threads->work(rounds); },
            .clock = clock_kind::wall,
            .pin = pinning::none,
            .least_rounds = 16384};
}

} // namespace

int main(int argc, char **argv) { return run(argc, argv, "home|moved", {"moved"}, make); }
