// A visit to the slow paths: marks the home busy, so that a signal handler of the same thread keeps out of its lists;
// does what such handlers had to postpone; and lets a thread that has said farewell leave the home again at once: other destructors of thread-specific data may
// follow, in this round or in another, and libc's own after them, and nobody says which is the last.
//
// A handler may fork amid a visit. The child ends the visit in what it has inherited, where nobody else is: the home, and the
// locks that this thread holds, are as they were. Then it begins anew. What it was given is its parent's, like all that it
// inherited: to free it does nothing. Until then its handlers find the home busy. If they need more than the reserve the child
// begins anew at once, and once more when the visit ends, which was half-way through changing what is made anew.
// Invariants: 1. A visit is to the home that the thread has: a handler that came since the home was asked for may have forked,
//   and its child begun anew. 2. After the visit nothing of a parent's is in use.
// Cost: a few loads at the beginning and at the end.
#pragma once

#include "accounting/base/os.hpp"
#include "alloc/adopt.hpp"
#include "alloc/fork.hpp"
#include "alloc/metadata.hpp"

namespace allot {

class visit {
public:
    explicit visit(home *&h) : home_(h) {
        mark_busy();
        if (thread_here.in_home != home_) [[unlikely]]
            go_to_the_home_here(h);
    }
    ~visit() {
        std::atomic_signal_fence(std::memory_order_seq_cst);
        home_->busy = false;
        std::atomic_signal_fence(std::memory_order_seq_cst);
        if (forked_since_start()) [[unlikely]] {
            fork_repair();
            return;
        }
        if (home_->generation != process_generation()) [[unlikely]] { // a handler's child has begun anew already
            begin_anew_again();
            return;
        }
        if (home_->postponed.load(std::memory_order_relaxed) != nullptr) [[unlikely]]
            free_postponed(home_);
        if (thread_here.farewells != 0) [[unlikely]]
            home_leave(home_);
    }
    visit(const visit &) = delete;
    visit &operator=(const visit &) = delete;

private:
    void mark_busy() {
        home_->busy = true;
        std::atomic_signal_fence(std::memory_order_seq_cst); // only a handler of this thread looks
    }
    // Where there is no memory for one it stays a parent's.
    [[gnu::noinline, gnu::cold]] void go_to_the_home_here(home *&h) {
        do {
            home_->busy = false;
            home *here = home_here();
            if (here != nullptr) h = home_ = here;
            mark_busy();
            if (here == nullptr) return;
        } while (thread_here.in_home != home_);
    }

    [[gnu::noinline, gnu::cold]] static void begin_anew_again() {
        signals_blocked quiet;
        fork_begin_anew();
    }

    home *home_;
};

} // namespace allot
