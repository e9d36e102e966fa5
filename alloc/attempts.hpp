// Attempts: an allocation that may be refused is tried in a visit; what a refusal leads to happens outside of it.
//
// It exists because what may help, shrinkers, and what follows, events, delays, a policy, run user code or take long: they
// come when the home is not busy and no lock is held, so that what they free is freed at once and what they allocate is
// allocated as ever. After each of them the thread may have another tenant, another heap, even another home.
//
// Threads: the home's own, not amid a slow path. Owner: the caller's stack.
// Invariants: 1. An attempt that returns nullptr has undone what it did. 2. Where nothing is due, nothing is done.
// Cost: one look at a thread-local byte an attempt; with null_hooks none.
#pragma once

#include "alloc/visit.hpp"

#include <cerrno>

namespace allot {

// What an attempt left, until it is settled.
class aftermath {
public:
    // In the visit. True: something is due.
    bool note(home *h, bool is_done) {
        if (!hooks::settle_is_due()) [[likely]]
            return false;
        note_slow(h, is_done);
        return true;
    }
    // Outside. True: try again.
    [[nodiscard]] bool settle();

private:
    void note_slow(home *h, bool is_done);

    hooks::unsettled left_{};
    std::uint32_t owner_ = 0; // whom the attempt charged, with a reference
    bool is_done_ = false;
};

// attempt(home *) gives a block, or nullptr with errno. The home has been asked for and is not busy.
template<typename Attempt>
[[nodiscard]] void *settled_attempts(home *h, Attempt attempt) {
    for (aftermath after;;) {
        void *p;
        {
            visit here(h);
            p = attempt(h);
            if (!after.note(h, p != nullptr)) [[likely]]
                return p;
        }
        if (!after.settle()) return p;
        h = home_here();
        if (h == nullptr || h->busy) { // what ran meanwhile has left us without one
            errno = ENOMEM;
            return nullptr;
        }
    }
}

} // namespace allot
