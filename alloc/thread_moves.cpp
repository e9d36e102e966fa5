#include "alloc/thread_moves.hpp"

#include "accounting/base/os.hpp"
#include "accounting/base/report.hpp"
#include "alloc/active.hpp"
#include "alloc/adopt.hpp"
#include "alloc/alloc.hpp"
#include "alloc/lock.hpp"
#include "alloc/metadata.hpp"
#include "alloc/visit.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/syscall.h>

namespace allot {

namespace {

struct waiting_move {
    waiting_move *next;
    std::uint32_t thread_id;
    std::uint64_t start_time; // ids are used again: of the thread, not of the id
    allot_tenant *to;
};

// A mover first adds, then looks for a home; a thread first has a home, then looks here. Both under locks: one of them
// sees the other.
struct waiting_list {
    process_lock lock;
    waiting_move *first;               // under lock
    std::atomic<std::uint32_t> length; // written under lock; read by threads that begin, after they have their home
};
constinit waiting_list waiting{};

bool is_thread_of_this_process(std::uint32_t thread_id) {
    return os_call(SYS_tgkill, static_cast<long>(os_pid()), static_cast<long>(thread_id), 0) != -ESRCH;
}

// Of /proc/self/task/ID/stat, in clock ticks since boot; 0 where it cannot be read.
std::uint64_t start_time_of(std::uint32_t thread_id) {
    line_writer path;
    path.text("/proc/self/task/").number(thread_id).text("/stat");
    char text[512];
    if (os_read_whole(path.c_str(), text, sizeof text) <= 0) return 0;
    const char *at = std::strrchr(text, ')'); // a name may have any character
    for (int field = 2; at != nullptr && field < 22; ++field) at = std::strchr(at + 1, ' ');
    if (at == nullptr) return 0;
    std::uint64_t ticks = 0;
    for (++at; *at >= '0' && *at <= '9'; ++at) ticks = ticks * 10 + static_cast<std::uint64_t>(*at - '0');
    return ticks;
}

// Under the lock. Takes those out that `leaves` says; returns the tenant of the last of them.
template<typename Leaves>
allot_tenant *take_out(Leaves leaves) {
    allot_tenant *to = nullptr;
    for (waiting_move **link = &waiting.first; *link != nullptr;) {
        waiting_move *move = *link;
        if (!leaves(*move)) {
            link = &move->next;
            continue;
        }
        to = move->to;
        *link = move->next;
        waiting.length.fetch_sub(1, std::memory_order_relaxed);
        metadata_free(move, sizeof *move);
    }
    return to;
}

bool add_waiting(std::uint32_t thread_id, allot_tenant *to) {
    std::uint64_t start_time = start_time_of(thread_id);
    lock_guard guard(waiting.lock);
    // An earlier request for it is overruled; one for a thread that has ended is of no use.
    (void)take_out([&](const waiting_move &move) {
        return move.thread_id == thread_id || !is_thread_of_this_process(move.thread_id);
    });
    void *memory = metadata_alloc(sizeof(waiting_move));
    if (memory == nullptr) return false;
    waiting.first = new (memory) waiting_move{waiting.first, thread_id, start_time, to};
    waiting.length.fetch_add(1, std::memory_order_relaxed);
    return true;
}

// The tenant that the thread of a home works for; false: no home has such a thread.
bool find_home(std::uint32_t thread_id, allot_tenant *&tenant) {
    for (home *h = homes_first(); h != nullptr; h = h->next_home) {
        if (h->thread_id.load(std::memory_order_relaxed) != thread_id) continue;
        tenant = h->move_to.load(std::memory_order_relaxed); // as good as done
        // By the heap, which knows whom it belongs to when the tenant is gone.
        if (const heap *chosen = h->chosen.load(std::memory_order_acquire); tenant == nullptr && chosen != nullptr)
            tenant = hooks::tenant_of_owner(read_shared(chosen->owner));
        return tenant != nullptr;
    }
    return false;
}

bool find_waiting(std::uint32_t thread_id, allot_tenant *&tenant) {
    if (waiting.length.load(std::memory_order_relaxed) == 0) return false;
    lock_guard guard(waiting.lock);
    for (waiting_move *move = waiting.first; move != nullptr; move = move->next)
        if (move->thread_id == thread_id) {
            tenant = move->to;
            return true;
        }
    return false;
}

allot_tenant *tenant_of_thread(std::uint32_t thread_id) {
    allot_tenant *tenant = nullptr;
    if (!find_home(thread_id, tenant) && !find_waiting(thread_id, tenant)) tenant = hooks::default_tenant();
    return living(tenant);
}

std::uint32_t number_in(const char *name) {
    std::uint32_t number = 0;
    for (; *name >= '0' && *name <= '9'; ++name) number = number * 10 + static_cast<std::uint32_t>(*name - '0');
    return number; // 0: "." and ".."
}

// Calls each for every thread id that /proc has. False: /proc cannot be read.
template<typename Each>
bool for_each_thread_id(Each each) {
    int folder = os_open("/proc/self/task", O_RDONLY | O_DIRECTORY);
    if (folder < 0) return false;
    alignas(8) char entries[2048];
    long length;
    while ((length = os_call(SYS_getdents64, folder, reinterpret_cast<long>(entries), sizeof entries)) > 0)
        for (long at = 0; at < length;) { // struct linux_dirent64: inode, offset, length, type, name
            std::uint16_t entry_bytes;
            std::memcpy(&entry_bytes, entries + at + 16, sizeof entry_bytes);
            if (std::uint32_t id = number_in(entries + at + 19); id != 0) each(id);
            at += entry_bytes;
        }
    os_close(folder);
    return length == 0;
}

} // namespace

int thread_move(std::uint32_t thread_id, allot_tenant *to) {
    home *h = home_here();
    if (h == nullptr || h->busy) return -ENOMEM;
    if (thread_id == 0 || thread_id == os_tid()) {
        heap_set_active(to);
        return 0;
    }
    visit here(h);
    if (to == nullptr) to = hooks::root_tenant();
    if (!is_thread_of_this_process(thread_id)) return -ESRCH;
    if (adopt_ask(thread_id, to)) return 0;
    if (!add_waiting(thread_id, to)) return -ENOMEM;
    // It may have found a home between the two.
    if (adopt_ask(thread_id, to)) {
        lock_guard guard(waiting.lock);
        (void)take_out([&](const waiting_move &move) { return move.thread_id == thread_id; });
    }
    return 0;
}

void threads_list(void (*each)(void *state, std::uint32_t thread_id, allot_tenant *), void *state) {
    (void)home_here(); // repairs the child of a fork
    if (for_each_thread_id([&](std::uint32_t id) { each(state, id, tenant_of_thread(id)); })) return;
    for (home *h = homes_first(); h != nullptr; h = h->next_home) // what is known without /proc
        if (std::uint32_t id = h->thread_id.load(std::memory_order_relaxed); id != 0)
            each(state, id, tenant_of_thread(id));
}

void serve_waiting_move(home *h) {
    if (waiting.length.load(std::memory_order_relaxed) == 0) [[likely]]
        return;
    if (thread_here.farewells != 0) return; // as in begin_to_work
    std::uint32_t self = os_tid();
    allot_tenant *to = nullptr;
    {
        std::uint64_t start_time = start_time_of(self);
        lock_guard guard(waiting.lock);
        to =
            take_out([&](const waiting_move &move) { return move.thread_id == self && move.start_time == start_time; });
    }
    if (to == nullptr) return;
    h->move_to.store(to, std::memory_order_relaxed);
    serve_requests(h);
}

void thread_moves_child_start() {
    waiting.lock.make_anew();
    waiting.first = nullptr;
    waiting.length.store(0, std::memory_order_relaxed);
}

} // namespace allot
