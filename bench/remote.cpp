// remote SIZE: one thread allocates, another frees; between them a ring of 1024 pointers. Claim: a free by another thread
// costs little more than one at home, and memory does not pile up with the thread that only frees. An operation is one
// object's way from malloc to free, by wall time, each thread on a CPU of its own where there are two.
#include "bench/crew.hpp"
#include "bench/harness.hpp"

#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <sched.h>

using namespace allot::bench;

namespace {

constexpr std::size_t ring_slots = 1024;

struct state {
    // Each slot is written non-null by the producer and null by the consumer, and each waits for the other's value.
    // release and acquire: the object's contents travel with its address.
    std::array<std::atomic<void *>, ring_slots> ring{};
    std::unique_ptr<crew> threads;
};

// Spins for about a microsecond, then lets others run: on a machine whose CPUs are shared the partner may be waiting
// for just this CPU.
class patience {
public:
    void wait() {
        if (++turns_ % 64 == 0) sched_yield();
    }

private:
    unsigned turns_ = 0;
};

void produce(state &s, std::size_t size, std::uint64_t rounds) {
    for (std::uint64_t i = 0; i < rounds; ++i) {
        void *p = std::malloc(size);
        touch(p);
        std::atomic<void *> &slot = s.ring[i % ring_slots];
        for (patience turn; slot.load(std::memory_order_acquire) != nullptr;) turn.wait();
        slot.store(p, std::memory_order_release);
    }
}

void consume(state &s, std::uint64_t rounds) {
    for (std::uint64_t i = 0; i < rounds; ++i) {
        std::atomic<void *> &slot = s.ring[i % ring_slots];
        void *p;
        for (patience turn; (p = slot.load(std::memory_order_acquire)) == nullptr;) turn.wait();
        slot.store(nullptr, std::memory_order_release);
        touch(p);
        std::free(p);
    }
}

benchmark make(const arguments &words) {
    const std::size_t size = number(words[0]);
    auto s = std::make_shared<state>();
    s->threads = std::make_unique<crew>(2, [raw = s.get(), size](unsigned member, std::uint64_t rounds) {
        if (member == 0)
            produce(*raw, size, rounds);
        else
            consume(*raw, rounds);
    });
    return {.name = join("remote", words),
            .operations_per_round = 1,
            .run = [s](std::uint64_t rounds) { s->threads->work(rounds); },
            .clock = clock_kind::wall,
            .pin = pinning::none,
            .least_rounds = 16 * ring_slots};
}

} // namespace

int main(int argc, char **argv) { return run(argc, argv, "SIZE", {"64"}, make); }
