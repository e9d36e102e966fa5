#include "bench/work.hpp"

#include <algorithm>
#include <chrono>

namespace allot::bench {

std::uint64_t rounds_lasting(double nanoseconds) {
    constexpr std::uint64_t tried = 200'000;
    constexpr int tries = 40;
    double best = 1e18;
    for (int i = 0; i < tries; ++i) {
        const auto start = std::chrono::steady_clock::now();
        volatile std::uint64_t result = private_work(static_cast<std::uint64_t>(i), tried);
        (void)result;
        best =
            std::min(best, std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count());
    }
    return static_cast<std::uint64_t>(nanoseconds / (best / static_cast<double>(tried)) + 0.5);
}

} // namespace allot::bench
