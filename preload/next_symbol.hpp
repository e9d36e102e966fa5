// The function of a name that would be called if this library were not loaded: libc's, or another preloaded library's.
//
// It exists for the few functions that cannot be done without libc (pthread_create, dlopen). The search may call back
// into malloc, which is ours and ready at any time, so nothing recurses.
//
// Threads: any. Cost: a search through the loaded libraries the first time, then one load.
#pragma once

#include <atomic>

namespace allot {

class next_symbol {
public:
    constexpr explicit next_symbol(const char *name) : name_(name) {}

    // nullptr: there is none.
    template<class Function>
    Function *get() {
        void *found = found_.load(std::memory_order_relaxed);
        return reinterpret_cast<Function *>(found ? found : search());
    }

private:
    void *search();

    const char *name_;
    // Written by each thread that finds nothing here, always with the same value; relaxed: the code it names is there.
    std::atomic<void *> found_{nullptr};
};

} // namespace allot
