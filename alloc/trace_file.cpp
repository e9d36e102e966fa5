#include "alloc/trace_file.hpp"

#include "accounting/base/os.hpp"
#include "accounting/base/units.hpp"

#include <atomic>
#include <cstring>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

namespace allot {

namespace {

constexpr std::size_t path_capacity = 4096;
constexpr std::uint64_t slots_max = std::uint64_t{1} << 40;

// Written where trace_file_open may be called; read by every claim.
struct file_state {
    char path[path_capacity];
    os_file_identity identity;
    allot_trace_header *header;
    std::uint32_t slot_bytes;
    bool has_membarrier; // at the start; accounting gives it up where seccomp is being set up
};
constinit file_state file{};

// Where a block was unmapped, another thread may map the next. The kernel puts that in order; who looks at orders, as the thread
// sanitizer does, is told by this word: added to before an unmapping and after a mapping, acquire and release.
constinit std::atomic<std::uint32_t> addresses_change{0};
void addresses_changed() { addresses_change.fetch_add(1, std::memory_order_acq_rel); }

// Never waits, as for a pipe, and follows no link that others may have put there.
int open_file(int more_flags) {
    return os_open(file.path, O_RDWR | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | more_flags, 0666);
}

std::uint32_t slot_bytes_here() {
    auto os_page = static_cast<std::uint32_t>(getpagesize());
    return os_page > ALLOT_TRACE_SLOT_BYTES_LEAST ? os_page : ALLOT_TRACE_SLOT_BYTES_LEAST;
}

std::uint64_t nanoseconds_of(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1000000000u + static_cast<std::uint64_t>(now.tv_nsec);
}

// Several processes may do it at the same time: they write the same, but for the moment, of which one is as good as another.
void make_header(allot_trace_header &h, std::uint32_t slot_bytes) {
    h.major = ALLOT_TRACE_MAJOR;
    h.minor = ALLOT_TRACE_MINOR;
    h.slot_bytes = slot_bytes;
    h.page_bytes = page_bytes;
    h.clock = ALLOT_TRACE_CLOCK_MONOTONIC;
    h.made_at = nanoseconds_of(CLOCK_MONOTONIC);
    h.made_at_realtime = nanoseconds_of(CLOCK_REALTIME);
    std::uint64_t none = 0;
    __atomic_compare_exchange_n(&h.next_slot, &none, 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    // release: who sees it sees the rest.
    __atomic_store_n(&h.magic, std::uint64_t{ALLOT_TRACE_MAGIC}, __ATOMIC_RELEASE);
}

// Of a file that is empty, or that another process is making right now.
trace_problem make(int fd, std::uint32_t slot_bytes) {
    if (!os_clear_file_space(fd, 0, slot_bytes)) return trace_problem::no_space;
    std::uintptr_t at = os_map_file_anywhere(slot_bytes, fd, 0);
    if (at == 0) return trace_problem::no_memory;
    auto *h = reinterpret_cast<allot_trace_header *>(at);
    if (__atomic_load_n(&h->magic, __ATOMIC_ACQUIRE) == 0) make_header(*h, slot_bytes);
    file.header = h;
    file.slot_bytes = slot_bytes;
    return trace_problem::none;
}

trace_problem join(int fd, const allot_trace_header &seen) {
    if (seen.magic != ALLOT_TRACE_MAGIC) return trace_problem::not_a_trace;
    if (seen.major != ALLOT_TRACE_MAJOR || seen.slot_bytes != slot_bytes_here()) return trace_problem::other_version;
    std::uintptr_t at = os_map_file_anywhere(seen.slot_bytes, fd, 0);
    if (at == 0) return trace_problem::no_memory;
    file.header = reinterpret_cast<allot_trace_header *>(at);
    file.slot_bytes = seen.slot_bytes;
    return trace_problem::none;
}

trace_problem make_or_join(int fd) {
    std::int64_t bytes = os_regular_file_bytes(fd);
    if (bytes < 0) return trace_problem::not_a_trace;
    std::uint32_t slot_bytes = slot_bytes_here();
    if (bytes == 0) return make(fd, slot_bytes);
    allot_trace_header seen{};
    if (os_read_at(fd, &seen, sizeof seen, 0) != static_cast<long>(sizeof seen)) return trace_problem::not_a_trace;
    if (seen.magic == 0 && bytes == slot_bytes) return make(fd, slot_bytes);
    return join(fd, seen);
}

bool is_the_same(const os_file_identity &now) {
    return now.known && now.device == file.identity.device && now.inode == file.identity.inode;
}

// A filter may end the process for what a claim does.
bool is_forbidden() { return file.has_membarrier && os_membarrier_mode() == membarrier_mode::unavailable; }

trace_space none(trace_problem why) { return {nullptr, 0, why}; }

} // namespace

trace_problem trace_file_open(const char *path) {
    std::size_t length = std::strlen(path);
    if (length >= path_capacity) return trace_problem::name_too_long;
    std::memcpy(file.path, path, length + 1);
    file.header = nullptr; // a parent's stays mapped: a thread of it may be forking in the middle of a claim
    int fd = open_file(O_CREAT);
    if (fd < 0) return trace_problem::cannot_be_opened;
    file.identity = os_identity_of(fd);
    file.has_membarrier = os_membarrier_mode() != membarrier_mode::unavailable;
    trace_problem problem = make_or_join(fd);
    os_close(fd);
    return problem;
}

const char *trace_file_name() { return file.path; }

trace_space trace_file_claim(std::uint32_t nr_slots) {
    if (is_forbidden()) return none(trace_problem::forbidden);
    // relaxed: numbers are handed out, nothing else.
    std::uint64_t first = __atomic_fetch_add(&file.header->next_slot, std::uint64_t{nr_slots}, __ATOMIC_RELAXED);
    if (first == 0 || first >= slots_max) return none(trace_problem::no_space); // 0: somebody has overwritten it
    int fd = open_file(0);
    if (fd < 0) return none(trace_problem::cannot_be_opened);
    std::size_t bytes = std::size_t{nr_slots} * file.slot_bytes;
    trace_space space{nullptr, bytes, trace_problem::none};
    if (!is_the_same(os_identity_of(fd)))
        space.problem = trace_problem::replaced;
    else if (!os_clear_file_space(fd, first * file.slot_bytes, bytes))
        space.problem = trace_problem::no_space;
    else if (std::uintptr_t at = os_map_file_anywhere(bytes, fd, first * file.slot_bytes); at != 0)
        space.start = reinterpret_cast<unsigned char *>(at);
    else
        space.problem = trace_problem::no_memory;
    os_close(fd);
    addresses_changed();
    return space;
}

void trace_file_unmap(const trace_space &space) {
    addresses_changed();
    os_unmap(reinterpret_cast<std::uintptr_t>(space.start), space.bytes);
}

void trace_file_note_stopped(trace_problem problem) {
    if (file.header == nullptr) return;
    std::uint32_t reason = problem == trace_problem::no_space    ? ALLOT_TRACE_STOPPED_NO_SPACE
                           : problem == trace_problem::no_memory ? ALLOT_TRACE_STOPPED_NO_MEMORY
                           : problem == trace_problem::forbidden ? ALLOT_TRACE_STOPPED_FORBIDDEN
                                                                 : ALLOT_TRACE_STOPPED_NO_FILE;
    __atomic_store_n(&file.header->stop_reason, reason, __ATOMIC_RELAXED);
    __atomic_fetch_add(&file.header->nr_stopped, 1, __ATOMIC_RELAXED);
}

const char *sentence_of(trace_problem problem) {
    switch (problem) {
    case trace_problem::none: return "is there";
    case trace_problem::name_too_long: return "has too long a name";
    case trace_problem::cannot_be_opened: return "cannot be opened";
    case trace_problem::not_a_trace: return "is no trace, and is left alone";
    case trace_problem::other_version: return "is a trace of another version";
    case trace_problem::replaced: return "is another file by now";
    case trace_problem::no_space: return "has no more space";
    case trace_problem::no_memory: return "cannot be mapped";
    case trace_problem::forbidden: return "is left to others, since system calls may be forbidden";
    case trace_problem::of_parent: return "is written to by a parent";
    }
    return "";
}

} // namespace allot
