// A crew: threads that stay, each held on one CPU in turn, that do one piece of work together when told to.
//
// It exists so that a slice of a benchmark with threads does not measure their creation, and so that all start at once.
//
// Threads: work() is called by one thread, which waits until every member is done. Owner: whoever made it; the
//   destructor joins. Invariants: the members run only inside work(). Cost: two barrier waits a call.
#pragma once

#include "bench/harness.hpp"

#include <barrier>
#include <functional>
#include <thread>
#include <vector>

namespace allot::bench {

class crew {
public:
    // job(member, rounds) is what each member runs.
    crew(unsigned members, std::function<void(unsigned, std::uint64_t)> job)
        : job_{std::move(job)}, gate_{static_cast<std::ptrdiff_t>(members) + 1} {
        for (unsigned member = 0; member < members; ++member) threads_.emplace_back([this, member] { serve(member); });
    }
    ~crew() {
        stopping_ = true;
        gate_.arrive_and_wait();
        for (std::thread &t : threads_) t.join();
    }
    crew(const crew &) = delete;
    crew &operator=(const crew &) = delete;

    void work(std::uint64_t rounds) {
        rounds_ = rounds;
        gate_.arrive_and_wait();
        gate_.arrive_and_wait();
    }

private:
    void serve(unsigned member) {
        pin_to_nth_cpu(member);
        for (;;) {
            gate_.arrive_and_wait();
            if (stopping_) return;
            job_(member, rounds_);
            gate_.arrive_and_wait();
        }
    }

    std::function<void(unsigned, std::uint64_t)> job_;
    // Written by the caller of work() before it arrives at the gate, read by members after: the gate orders them.
    std::uint64_t rounds_ = 0;
    bool stopping_ = false;
    std::barrier<> gate_;
    std::vector<std::thread> threads_;
};

} // namespace allot::bench
