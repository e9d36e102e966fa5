// kmalloc_kfree --threads N --size BYTES --variant NAME [--seconds S]: all threads allocate and free an object of that
// size for a while; the last line says how many thousand pairs they did a second, together. Claim: pairs a second grow
// with the CPUs, accounted as well as not. It is the benchmark with which Linux's byte stock was first judged, there with
// 96 threads and 4096 bytes on 96 CPUs.
#include "bench/crew.hpp"
#include "bench/harness.hpp"
#include "bench/variant.hpp"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace allot::bench;

namespace {

struct settings {
    std::uint64_t threads = 1;
    std::uint64_t size = 4096;
    std::string variant_name = "allot";
    double seconds = 1;
};

settings parse(int argc, char **argv) {
    settings s;
    for (int i = 1; i < argc; i += 2) {
        const std::string word = argv[i];
        if (i + 1 >= argc) fail(word + ": a value is missing");
        const char *value = argv[i + 1];
        if (word == "--threads")
            s.threads = number(value);
        else if (word == "--size")
            s.size = number(value);
        else if (word == "--variant")
            s.variant_name = value;
        else if (word == "--seconds")
            s.seconds = std::strtod(value, nullptr);
        else
            fail(word + ": expected --threads N, --size BYTES, --variant NAME or --seconds S");
    }
    if (s.threads > 1024 || !(s.seconds > 0)) fail("expected at most 1024 threads and more than 0 seconds");
    return s;
}

// Pairs between two looks at the flag: rare enough not to be measured.
constexpr std::uint64_t pairs_per_look = 256;

std::uint64_t pairs_until(const std::atomic<bool> &stop, const variant &v, std::size_t size) {
    std::uint64_t pairs = 0;
    for (; !stop.load(std::memory_order_relaxed); pairs += pairs_per_look)
        for (std::uint64_t i = 0; i < pairs_per_look; ++i) {
            void *p = v.malloc(size);
            touch(p);
            v.free(p);
        }
    return pairs;
}

} // namespace

int main(int argc, char **argv) {
    const settings s = parse(argc, argv);
    const variant v = load(s.variant_name);
    keep_given_cpus();
    // stop: written by the timer, read by all; relaxed, since nothing else travels with it. total: added to once a
    // thread, read after the gate.
    std::atomic<bool> stop = false;
    std::atomic<std::uint64_t> total = 0;
    crew threads{static_cast<unsigned>(s.threads),
                 [&](unsigned, std::uint64_t) { total += pairs_until(stop, v, s.size); }};
    std::thread timer;
    const auto start = std::chrono::steady_clock::now();
    timer = std::thread{[&] {
        std::this_thread::sleep_for(std::chrono::duration<double>(s.seconds));
        stop = true;
    }};
    threads.work(1);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    timer.join();
    std::printf("%s %llu threads %llu bytes %.2f s\n", s.variant_name.c_str(),
                static_cast<unsigned long long>(s.threads), static_cast<unsigned long long>(s.size), elapsed.count());
    std::printf("%.0f kops/s\n", static_cast<double>(total.load()) / elapsed.count() / 1000);
    return 0;
}
