// thread_storm THREADS SIZE: THREADS threads are made at once; each allocates 32 objects of SIZE bytes, frees half of them
// and ends; who made them frees the rest. Claim: a thread that lives for microseconds costs its allocator little, and
// leaves nothing behind. An operation is one thread.
#include "bench/harness.hpp"

#include <array>
#include <cstdlib>
#include <memory>
#include <thread>

using namespace allot::bench;

namespace {

constexpr std::size_t kept = 16;

using objects = std::array<void *, kept>;

void live(objects &left, std::size_t size) {
    for (void *&p : left) {
        p = std::malloc(size);
        void *own = std::malloc(size);
        touch(p);
        touch(own);
        std::free(own);
    }
}

benchmark make(const arguments &words) {
    const std::uint64_t count = number(words[0]);
    const std::size_t size = number(words[1]);
    if (count > 1024) fail("THREADS " + words[0] + ": at most 1024");
    auto left = std::make_shared<std::vector<objects>>(count);
    return {.name = join("thread_storm", words),
            .operations_per_round = count,
            .run =
                [left, size](std::uint64_t rounds) {
                    std::vector<std::thread> threads;
                    for (std::uint64_t i = 0; i < rounds; ++i) {
                        for (objects &o : *left) threads.emplace_back(live, std::ref(o), size);
                        for (std::thread &t : threads) t.join();
                        threads.clear();
                        for (objects &o : *left)
                            for (void *p : o) std::free(p);
                    }
                },
            .clock = clock_kind::wall,
            .pin = pinning::none,
            .finish = [] {}};
}

} // namespace

int main(int argc, char **argv) { return run(argc, argv, "THREADS SIZE", {"8", "64"}, make); }
