// kmalloc_kfree --threads N --size BYTES --variant NAME: all threads allocate and free objects of that size, in one tenant;
// the last line says how many thousand pairs they did a second, together. It is the benchmark with which Linux's byte stock
// was judged, there with 96 threads and 4096 bytes on 96 CPUs.
//
// Claims: Linux's 5.14 is faster than what was before it by as much as the shared lines cost that it no longer writes; allot
// is faster than every release; accounted pairs a second grow with the CPUs like unaccounted ones.
//
// NAME: null, allot, a variant of accounting/linux/variants.def, or linux_none, which makes the engine's call and counts
// nothing. A thread is a CPU of Linux's engines. --burst K: K allocations, then their frees, last in first out; an operation
// is one allocation with its free. --levels: tenants below the root, of which the last is charged. --protected: min and low
// set on the first of them, below what is in use; --all-protected: on each. --no-statistics: Linux's engines leave them out.
// --iterations: exactly so many bursts a thread, for instruction counters; else --seconds. Both after a warm-up that is not
// counted; with --traps, which needs one thread and --iterations, between two traps for bench/step.
#include "bench/crew.hpp"
#include "bench/engine_module.hpp"
#include "bench/experiment.hpp"
#include "bench/variant.hpp"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

using namespace allot::bench;

namespace {

struct settings {
    std::uint64_t threads = 1, size = 4096, burst = 1, levels = 3, iterations = 0;
    std::string variant_name = "allot";
    double seconds = 1;
    bool is_protected = false, is_all_protected = false, has_no_statistics = false, has_traps = false, as_json = false;
};

void declare(options &o, settings &s) {
    o.word("--variant", s.variant_name);
    o.number("--threads", s.threads);
    o.number("--size", s.size);
    o.number("--burst", s.burst);
    o.number("--levels", s.levels);
    o.number("--iterations", s.iterations, 0);
    o.real("--seconds", s.seconds, 0.001, 3600);
    o.flag("--protected", s.is_protected);
    o.flag("--all-protected", s.is_all_protected);
    o.flag("--no-statistics", s.has_no_statistics);
    o.flag("--traps", s.has_traps);
    o.flag("--json", s.as_json);
}

void check(const settings &s) {
    if (s.threads > 1024) fail("--threads: at most 1024");
    if (s.levels > 16) fail("--levels: at most 16");
    if (s.burst > 1024 * 1024) fail("--burst: at most 1M");
    if (s.has_traps && (s.threads != 1 || s.iterations == 0)) fail("--traps needs one thread and --iterations");
}

engine_setting engine_setting_of(const settings &s) {
    const std::uint64_t protected_levels = s.is_all_protected ? s.levels : s.is_protected ? 1 : 0;
    return {.variant = s.variant_name.c_str(),
            .threads = static_cast<std::uint32_t>(s.threads + 1), // the main thread looks on
            .levels = static_cast<std::uint32_t>(s.levels),
            .protected_levels = static_cast<std::uint32_t>(protected_levels),
            .keeps_statistics = !s.has_no_statistics};
}

// One thread's objects of a burst.
class bursts {
public:
    bursts(const variant &v, const settings &s)
        : v_(v), size_(s.size), nr_blocks_(s.burst), blocks_(new void *[s.burst]) {}

    void run(std::uint64_t count) const {
        if (nr_blocks_ == 1)
            pairs(count, v_.malloc, v_.free, size_);
        else
            for (; count > 0; --count) burst();
    }
    // Bursts done. The flag is looked at so seldom that it is not measured.
    std::uint64_t run_until(const std::atomic<bool> &stop) const {
        const std::uint64_t at_a_time = nr_blocks_ < 256 ? 256 / nr_blocks_ : 1;
        std::uint64_t count = 0;
        for (; !stop.load(std::memory_order_relaxed); count += at_a_time) run(at_a_time);
        return count;
    }

private:
    [[noreturn]] static void refused() { fail("an allocation was refused: fewer threads, smaller bursts or sizes"); }

    // By value, so that nothing has to be read anew after each call.
    static void pairs(std::uint64_t count, decltype(variant::malloc) allocate, decltype(variant::free) free_block,
                      std::size_t size) {
        for (; count > 0; --count) {
            void *p = allocate(size);
            if (p == nullptr) [[unlikely]]
                refused();
            touch(p);
            free_block(p);
        }
    }
    void burst() const {
        for (std::size_t i = 0; i < nr_blocks_; ++i) {
            blocks_[i] = v_.malloc(size_);
            if (blocks_[i] == nullptr) [[unlikely]]
                refused();
            touch(blocks_[i]);
        }
        for (std::size_t i = nr_blocks_; i-- > 0;) v_.free(blocks_[i]);
    }

    const variant v_;
    const std::size_t size_, nr_blocks_;
    const std::unique_ptr<void *[]> blocks_;
};

constexpr std::uint64_t warm_up_bursts = 64;

// What all threads do for the time or the number that was asked for.
class experiment {
public:
    experiment(const settings &s, const variant &v)
        : settings_(s), variant_(v),
          crew_(static_cast<unsigned>(s.threads), [this](unsigned, std::uint64_t bursts) { work(bursts); }) {}

    outcome run() {
        crew_.work(warm_up_bursts);
        const counts before = variant_.counted();
        done_ = 0;
        outcome result;
        const stopwatch watch;
        if (settings_.iterations != 0)
            crew_.work(settings_.iterations);
        else
            work_for_the_time();
        watch.read(result);
        result.operations = done_ * settings_.burst;
        result.counted = variant_.counted();
        for (std::size_t i = 0; i < before.size(); ++i) result.counted[i].second -= before[i].second;
        return result;
    }

private:
    static constexpr std::uint64_t until_stopped = 0;

    void work(std::uint64_t nr_bursts) {
        thread_local const std::unique_ptr<bursts> mine = std::make_unique<bursts>(variant_, settings_);
        if (nr_bursts == until_stopped) {
            done_ += mine->run_until(stop_);
        } else {
            mine->run(nr_bursts);
            done_ += nr_bursts;
        }
    }
    void work_for_the_time() {
        std::thread timer([this] {
            std::this_thread::sleep_for(std::chrono::duration<double>(settings_.seconds));
            stop_ = true;
        });
        crew_.work(until_stopped);
        timer.join();
    }

    const settings &settings_;
    const variant &variant_;
    // stop_: written by the timer, read by all; relaxed, since nothing else travels with it. done_: bursts, added to once a
    // thread, read after the gate.
    std::atomic<bool> stop_ = false;
    std::atomic<std::uint64_t> done_ = 0;
    crew crew_;
};

// One thread, this one, between two traps.
outcome run_with_traps(const settings &s, const variant &v) {
    bursts mine(v, s);
    mine.run(warm_up_bursts);
    const counts before = v.counted();
    outcome result;
    const stopwatch watch;
    trap();
    mine.run(s.iterations);
    trap();
    watch.read(result);
    result.operations = s.iterations * s.burst;
    result.counted = v.counted();
    for (std::size_t i = 0; i < before.size(); ++i) result.counted[i].second -= before[i].second;
    return result;
}

} // namespace

int main(int argc, char **argv) {
    settings s;
    options o;
    declare(o, s);
    o.parse(argc, argv);
    check(s);
    keep_given_cpus();
    const variant v = load(s.variant_name, engine_setting_of(s));
    outcome result = s.has_traps ? run_with_traps(s, v) : experiment(s, v).run();
    if (s.variant_name == "allot") // with each operation: they are in the word that is charged
        result.counted.emplace_back("statistics", 2 * result.operations);
    if (s.as_json) {
        std::printf("%s\n", json_of("kmalloc_kfree", o, result).c_str());
        return 0;
    }
    const double operations = static_cast<double>(result.operations);
    std::printf("%s %llu threads %llu bytes %.2f s", s.variant_name.c_str(), static_cast<unsigned long long>(s.threads),
                static_cast<unsigned long long>(s.size), result.seconds);
    std::printf(" %.4g shared a pair\n", static_cast<double>(count_named(result.counted, "shared")) / operations);
    std::printf("%.0f kops/s\n", operations / result.seconds / 1000);
    return 0;
}
