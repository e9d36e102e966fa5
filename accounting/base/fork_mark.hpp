// Tells the child of a fork from its parent, however the child was made.
//
// It exists because handlers of pthread_atfork do not see _Fork and raw clone, and because a pid does not tell a vfork
// child, which shares its parent's memory and must go on as its parent, from a forked one. A page that the kernel empties
// in children (MADV_WIPEONFORK) does.
//
// Threads: any. One thread of the child repairs what the mark guards while the others wait.
// Owner: the process, until it ends.
// Invariants: the word on the page is 0 (never used, or a child), a thread's identity (that thread repairs), or `valid`.
// Cost: two loads. One page.
#pragma once

#include <atomic>
#include <cstdint>

namespace allot {

// Differs between the threads of a process, and is free to read.
inline std::uintptr_t thread_identity() { return reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer()); }

enum class fork_answer { same_process, new_process, ask_later };

class fork_mark {
public:
    // new_process: the caller is the one who repairs, and calls repaired() then.
    // ask_later: a signal handler has interrupted the repair; nothing that the mark guards may be used now.
    fork_answer ask() {
        std::atomic<std::uintptr_t> *mark = mark_.load(std::memory_order_acquire);
        // acquire: pairs with the store in repaired().
        if (mark && mark->load(std::memory_order_acquire) == valid) return fork_answer::same_process;
        return ask_slow();
    }
    // The caller cannot repair now; whoever asks next is told again.
    void not_repaired() { mark_.load(std::memory_order_relaxed)->store(0, std::memory_order_release); }
    void repaired() { mark_.load(std::memory_order_relaxed)->store(valid, std::memory_order_release); }

    // Without becoming the one who repairs: this process has been here and is no child of the one that was.
    bool is_repaired() const {
        std::atomic<std::uintptr_t> *mark = mark_.load(std::memory_order_acquire);
        return mark && mark->load(std::memory_order_acquire) == valid;
    }

private:
    static constexpr std::uintptr_t valid = 1;

    fork_answer ask_slow();
    std::atomic<std::uintptr_t> *make();

    // Written once, by whoever comes first; read by all.
    std::atomic<std::atomic<std::uintptr_t> *> mark_{nullptr};
    // Stands in for the page where it cannot be had: children are not noticed then.
    std::atomic<std::uintptr_t> unwiped_{0};
};

} // namespace allot
