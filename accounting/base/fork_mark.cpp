#include "accounting/base/fork_mark.hpp"

#include "accounting/base/os.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>

namespace allot {

namespace {
constexpr std::size_t mark_bytes = 65536; // no OS page is larger; one is touched
}

std::atomic<std::uintptr_t> *fork_mark::make() {
    const std::uintptr_t got = os_map(mark_bytes);
    std::atomic<std::uintptr_t> *fresh = &unwiped_;
    if (got != 0) {
        if (os_call(SYS_madvise, static_cast<long>(got), mark_bytes, MADV_WIPEONFORK) < 0)
            os_unmap(got, mark_bytes);
        else
            fresh = reinterpret_cast<std::atomic<std::uintptr_t> *>(got);
    }
    std::atomic<std::uintptr_t> *seen = nullptr;
    if (mark_.compare_exchange_strong(seen, fresh, std::memory_order_acq_rel)) return fresh;
    if (fresh != &unwiped_) os_unmap(reinterpret_cast<std::uintptr_t>(fresh), mark_bytes);
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
        os_yield();
    }
}

} // namespace allot
