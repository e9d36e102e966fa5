#include "bench/harness.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sched.h>
#include <thread>
#include <time.h>

namespace allot::bench {
namespace {

struct settings {
    double seconds = 0.3;
    std::uint64_t iterations = 0; // 0: calibrate by time
    std::uint64_t warm_up = 0;    // rounds before those that count, with --iterations
    bool traps = false;
    bool pinned = true;
    const char *clock = nullptr;
};

// Written by keep_given_cpus() before there are threads; only read afterwards.
cpu_set_t given_cpus;

double now(clock_kind clock) {
    timespec t;
    clock_gettime(clock == clock_kind::cpu ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

double seconds_of(const benchmark &b, std::uint64_t rounds) {
    const double start = now(b.clock);
    b.run(rounds);
    return now(b.clock) - start;
}

// Rounds that take a slice's time. Doubling is also the warm-up: all of it together lasts about two slices.
std::uint64_t calibrated_rounds(const benchmark &b, double slice_seconds) {
    std::uint64_t rounds = b.least_rounds;
    while (seconds_of(b, rounds) < slice_seconds && rounds < (std::uint64_t{1} << 40)) rounds *= 2;
    return rounds;
}

// A figure of this process, in bytes. VmHWM and not getrusage's ru_maxrss: the latter survives exec and would show the
// driver's own size.
std::uint64_t status_bytes(const char *format) {
    std::FILE *file = std::fopen("/proc/self/status", "re");
    if (file == nullptr) return 0;
    char line[256];
    unsigned long long kib = 0;
    while (std::fgets(line, sizeof line, file) != nullptr && std::sscanf(line, format, &kib) != 1)
        ;
    std::fclose(file);
    return kib * 1024;
}

// The program goes on, doing little: allocators that look at the clock now and then get their chance, and so do those that
// have a thread for it.
void idle() {
    for (int i = 0; i < 15; ++i) {
        std::vector<void *> objects;
        for (std::size_t size = 16; size <= 512 * 1024; size *= 2) objects.push_back(std::malloc(size));
        for (void *p : objects) std::free(p);
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
}

// The file name of the library whose malloc this program calls.
const char *malloc_library() {
    Dl_info info;
    void *found = dlsym(RTLD_DEFAULT, "malloc");
    if (found == nullptr || dladdr(found, &info) == 0 || info.dli_fname == nullptr) return "unknown";
    const char *slash = std::strrchr(info.dli_fname, '/');
    return slash == nullptr ? info.dli_fname : slash + 1;
}

void print_line(const benchmark &b, std::vector<double> &seconds, std::uint64_t rounds) {
    const std::uint64_t rss = status_bytes("VmHWM: %llu");
    std::sort(seconds.begin(), seconds.end());
    const double ns = 1e9 / (static_cast<double>(rounds) * static_cast<double>(b.operations_per_round));
    std::printf("%s %.4g ns best %.4g peak_rss %llu malloc %s", b.name.c_str(), seconds[seconds.size() / 2] * ns,
                seconds.front() * ns, static_cast<unsigned long long>(rss), malloc_library());
    if (b.finish) {
        b.finish();
        idle();
        std::printf(" left_rss %llu", static_cast<unsigned long long>(status_bytes("VmRSS: %llu")));
    }
    std::printf("\n");
}

void run_for_time(const benchmark &b, double seconds) {
    const std::uint64_t rounds = calibrated_rounds(b, seconds / (b.clock == clock_kind::cpu ? 32 : 8));
    std::vector<double> slices;
    slices.reserve(64);
    double total = 0;
    while (slices.size() < 64 && (slices.size() < 3 || total < seconds)) {
        slices.push_back(seconds_of(b, rounds));
        total += slices.back();
    }
    print_line(b, slices, rounds);
}

void run_iterations(const benchmark &b, const settings &s) {
    if (s.warm_up != 0) b.run(s.warm_up);
    std::vector<double> slices(1);
    if (s.traps) {
        trap();
        b.run(s.iterations);
        trap();
        return;
    }
    slices[0] = seconds_of(b, s.iterations);
    print_line(b, slices, s.iterations);
}

double positive_seconds(const char *text) {
    char *end = nullptr;
    const double value = std::strtod(text, &end);
    if (end == text || *end != '\0' || !(value > 0) || value > 3600)
        fail(std::string{"--seconds "} + text + ": expected a number above 0 and at most 3600");
    return value;
}

arguments parse(int argc, char **argv, settings &s) {
    arguments rest;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const auto value = [&]() -> const char * {
            if (i + 1 >= argc) fail(word + ": a value is missing");
            return argv[++i];
        };
        if (word == "--seconds")
            s.seconds = positive_seconds(value());
        else if (word == "--iterations")
            s.iterations = number(value());
        else if (word == "--warm-up")
            s.warm_up = number(value());
        else if (word == "--clock")
            s.clock = value();
        else if (word == "--traps")
            s.traps = true;
        else if (word == "--unpinned")
            s.pinned = false;
        else if (word.size() > 1 && word[0] == '-')
            fail(word + ": expected --seconds S, --iterations N, --warm-up N, --clock cpu|wall, --unpinned or --traps");
        else
            rest.push_back(word);
    }
    if (s.traps && s.iterations == 0) fail("--traps: needs --iterations");
    return rest;
}

clock_kind chosen_clock(const char *text, clock_kind otherwise) {
    if (text == nullptr) return otherwise;
    if (std::strcmp(text, "cpu") == 0) return clock_kind::cpu;
    if (std::strcmp(text, "wall") == 0) return clock_kind::wall;
    fail(std::string{"--clock "} + text + ": expected cpu or wall");
}

} // namespace

void fail(const std::string &what) {
    std::fprintf(stderr, "bench: %s\n", what.c_str());
    std::exit(2);
}

void trap() {
#if defined(__x86_64__)
    __asm__ volatile("int3" ::: "memory");
#else
    __builtin_trap();
#endif
}

std::uint64_t number(const std::string &text) {
    char *end = nullptr;
    errno = 0;
    const unsigned long long value = std::strtoull(text.c_str(), &end, 10);
    unsigned shift = 0;
    if (*end != '\0') {
        const char *units = "KMG";
        const char *unit = std::strchr(units, *end);
        shift = unit == nullptr || end[1] != '\0' ? 64 : 10 * static_cast<unsigned>(unit - units + 1);
    }
    if (end == text.c_str() || text[0] == '-' || errno != 0 || value == 0 || shift == 64 ||
        value > (UINT64_MAX >> shift))
        fail("\"" + text + "\": expected a number of 1 and more, such as 64 or 8M");
    return std::uint64_t{value} << shift;
}

std::string join(const char *benchmark, const arguments &words) {
    std::string name = benchmark;
    for (const std::string &word : words) name += "/" + word;
    return name;
}

void keep_given_cpus() {
    CPU_ZERO(&given_cpus);
    sched_getaffinity(0, sizeof given_cpus, &given_cpus);
}

void pin_to_nth_cpu(unsigned nth) {
    const int count = CPU_COUNT(&given_cpus);
    if (count == 0) return;
    int skip = static_cast<int>(nth) % count;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (!CPU_ISSET(cpu, &given_cpus) || skip-- != 0) continue;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        sched_setaffinity(0, sizeof one, &one);
        return;
    }
}

int run(int argc, char **argv, const char *usage, const arguments &defaults, factory make) {
    settings s;
    arguments words = parse(argc, argv, s);
    if (words.size() > defaults.size()) fail(std::string{"too many arguments; expected "} + usage);
    words.insert(words.end(), defaults.begin() + static_cast<std::ptrdiff_t>(words.size()), defaults.end());

    keep_given_cpus();
    benchmark b = make(words);
    b.clock = chosen_clock(s.clock, b.clock);
    // The last CPU rather than the first: interrupts and other programs tend to gather on the first.
    if (s.pinned && b.pin == pinning::one_cpu && CPU_COUNT(&given_cpus) > 0)
        pin_to_nth_cpu(static_cast<unsigned>(CPU_COUNT(&given_cpus) - 1));
    if (s.iterations != 0)
        run_iterations(b, s);
    else
        run_for_time(b, s.seconds);
    return 0;
}

} // namespace allot::bench
