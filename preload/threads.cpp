#include "preload/threads.hpp"

#include "accounting/accounting.hpp"
#include "accounting/base/os.hpp"
#include "accounting/options.hpp"
#include "alloc/alloc.hpp"
#include "preload/map_rules.hpp"

#include <atomic>
#include <sys/prctl.h>
#include <sys/syscall.h>

namespace allot {

// Records are found by trying, not on a list: a child of fork finds at worst a few that are taken for ever, and no lock.
struct thread_start {
    // Taken by a creator (acquire: after the last user's reads), given back by the new thread (release).
    std::atomic<std::uint32_t> taken;
    thread_routine *routine;
    void *argument;
};

namespace {

constexpr std::uint32_t records_per_chunk = 128;
struct chunk {
    // Written once, when the chunk is full and another is made; acquire on reading, since the next is fresh memory.
    std::atomic<chunk *> next;
    thread_start records[records_per_chunk];
};
constinit chunk first_chunk{};

thread_start *take_record(chunk &c) {
    for (thread_start &record : c.records) {
        std::uint32_t free = 0;
        if (record.taken.load(std::memory_order_relaxed) == 0 &&
            record.taken.compare_exchange_strong(free, 1, std::memory_order_acquire))
            return &record;
    }
    return nullptr;
}

chunk *chunk_after(chunk &c) {
    chunk *next = c.next.load(std::memory_order_acquire);
    if (next) return next;
    const std::uintptr_t memory = os_map(sizeof(chunk));
    if (memory == 0) return nullptr;
    chunk *fresh = reinterpret_cast<chunk *>(memory);
    if (c.next.compare_exchange_strong(next, fresh, std::memory_order_acq_rel)) return fresh;
    os_unmap(memory, sizeof(chunk)); // another thread was first
    return next;
}

} // namespace

bool threads_have_rules() { return map_rules_exist(map_kind::thread); }

void thread_apply_rules() {
    char name[16] = {};
    os_call(SYS_prctl, PR_GET_NAME, reinterpret_cast<long>(name));
    allot_tenant *tenant = map_rules_tenant(map_kind::thread, name);
    heap_set_active(tenant ? tenant : tenant_default());
}

void threads_start() {
    if (map_rules_exist(map_kind::exe))
        if (allot_tenant *own = map_rules_tenant(map_kind::exe, options_get().program)) {
            tenant_set_default(own);
            heap_set_active(own); // this thread has a home already
        }
    if (threads_have_rules()) thread_apply_rules();
}

thread_start *thread_start_make(thread_routine *routine, void *argument) {
    for (chunk *c = &first_chunk; c; c = chunk_after(*c)) {
        if (thread_start *record = take_record(*c)) {
            record->routine = routine;
            record->argument = argument;
            return record;
        }
    }
    return nullptr;
}

void thread_start_drop(thread_start *record) { record->taken.store(0, std::memory_order_release); }

void *thread_main(void *argument) {
    auto *record = static_cast<thread_start *>(argument);
    thread_routine *const routine = record->routine;
    void *const routine_argument = record->argument;
    thread_start_drop(record);
    thread_apply_rules();
    return routine(routine_argument);
}

} // namespace allot
