#include "preload/fork_mark.hpp"

#include <sys/mman.h>

namespace allot {

namespace {
constexpr unsigned long mark_bytes = 65536; // no OS page is larger; one is touched
}

std::atomic<std::uintptr_t> *fork_mark::make() {
    const long got = raw_syscall(SYS_mmap, 0, mark_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                                 static_cast<unsigned long>(-1), 0);
    std::atomic<std::uintptr_t> *fresh = &unwiped_;
    if (!is_error(got)) {
        if (is_error(raw_syscall(SYS_madvise, static_cast<unsigned long>(got), mark_bytes, MADV_WIPEONFORK)))
            raw_syscall(SYS_munmap, static_cast<unsigned long>(got), mark_bytes);
        else
            fresh = reinterpret_cast<std::atomic<std::uintptr_t> *>(got);
    }
    std::atomic<std::uintptr_t> *seen = nullptr;
    if (mark_.compare_exchange_strong(seen, fresh, std::memory_order_acq_rel)) return fresh;
    if (fresh != &unwiped_) raw_syscall(SYS_munmap, reinterpret_cast<unsigned long>(fresh), mark_bytes);
    return seen;
}

fork_answer fork_mark::ask_slow() {
    std::atomic<std::uintptr_t> *mark = mark_.load(std::memory_order_acquire);
    if (!mark) mark = make();
    const std::uintptr_t self = thread_identity();
    for (;;) {
        std::uintptr_t seen = 0;
        if (mark->compare_exchange_strong(seen, self, std::memory_order_acq_rel)) return fork_answer::new_process;
        if (seen == valid) return fork_answer::same_process;
        if (seen == self) return fork_answer::ask_later;
        raw_syscall(SYS_sched_yield);
    }
}

} // namespace allot
