// threads N SIZE [holdK]: N threads, each in a loop of its own of malloc and free; with holdK each keeps K objects alive
// and frees the oldest. Claim: threads do not get in each other's way, also when there are far more of them than CPUs.
// An operation is one pair of any thread, by wall time: with two CPUs the figure is half of what a pair costs.
#include "bench/crew.hpp"
#include "bench/harness.hpp"

#include <cstdlib>
#include <memory>

using namespace allot::bench;

namespace {

void pairs(std::size_t size, std::uint64_t rounds) {
    for (std::uint64_t i = 0; i < rounds; ++i) {
        void *p = std::malloc(size);
        touch(p);
        std::free(p);
    }
}

// The held objects are freed at the end of the slice, so that a slice leaves nothing for the next one.
void pairs_holding(std::size_t size, std::size_t held, std::uint64_t rounds) {
    void *ring[64] = {};
    std::size_t at = 0;
    for (std::uint64_t i = 0; i < rounds; ++i) {
        std::free(ring[at]);
        ring[at] = std::malloc(size);
        touch(ring[at]);
        at = at + 1 == held ? 0 : at + 1;
    }
    for (void *p : ring) std::free(p);
}

std::size_t held_objects(const std::string &word) {
    if (word.rfind("hold", 0) != 0) fail("\"" + word + "\": expected holdK, such as hold16");
    const std::uint64_t held = number(word.substr(4));
    if (held > 64) fail(word + ": at most hold64");
    return held;
}

benchmark make(const arguments &words) {
    const std::uint64_t members = number(words[0]);
    const std::size_t size = number(words[1]);
    const std::size_t held = held_objects(words[2]);
    if (members > 1024) fail("N " + words[0] + ": at most 1024 threads");
    auto threads = std::make_shared<crew>(static_cast<unsigned>(members), [size, held](unsigned, std::uint64_t rounds) {
        if (held == 1)
            pairs(size, rounds);
        else
            pairs_holding(size, held, rounds);
    });
    return {.name = held == 1 ? join("threads", {words[0], words[1]}) : join("threads", words),
            .operations_per_round = members,
            .run = [threads](std::uint64_t rounds) { threads->work(rounds); },
            .clock = clock_kind::wall,
            .pin = pinning::none,
            .least_rounds =
                32768}; // a tenth of a millisecond and more a thread, next to the microseconds it takes to wake it
}

} // namespace

int main(int argc, char **argv) { return run(argc, argv, "N SIZE [holdK]", {"2", "64", "hold1"}, make); }
