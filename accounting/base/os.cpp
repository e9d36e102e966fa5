#include "accounting/base/os.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <time.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

namespace allot {

long os_call(long number, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
#else
#error "allot: no system call sequence for this processor"
#endif
}

namespace {

bool failed(long result) { return result < 0 && result >= -4095; }

template<class T>
long bits_of(T *p) {
    return reinterpret_cast<long>(p);
}

// The address, or 0.
std::uintptr_t map(std::uintptr_t address, std::size_t bytes, int protection, int flags, int fd, std::uint64_t offset) {
    long result = os_call(SYS_mmap, static_cast<long>(address), static_cast<long>(bytes), protection, flags, fd,
                          static_cast<long>(offset));
    return failed(result) ? 0 : static_cast<std::uintptr_t>(result);
}

// Kernels before 4.17 take NOREPLACE for a hint and map elsewhere.
bool map_exactly(std::uintptr_t address, std::size_t bytes, int flags, int fd, std::uint64_t offset) {
    std::uintptr_t at = map(address, bytes, PROT_READ | PROT_WRITE, flags, fd, offset);
    if (at == address) return true;
    if (at != 0) os_unmap(at, bytes);
    return false;
}

constexpr int anonymous = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

// This thread's id. Written and read by this thread alone, also in its signal handlers, where both write the same.
constinit thread_local std::uint32_t cached_tid = 0;

} // namespace

constinit std::atomic<membarrier_mode> membarrier_mode_here{membarrier_mode::unavailable};

std::uintptr_t os_map(std::size_t bytes) { return map(0, bytes, PROT_READ | PROT_WRITE, anonymous, -1, 0); }
std::uintptr_t os_reserve(std::size_t bytes) { return map(0, bytes, PROT_NONE, anonymous, -1, 0); }
bool os_map_free(std::uintptr_t address, std::size_t bytes) {
    return map_exactly(address, bytes, anonymous | MAP_FIXED_NOREPLACE, -1, 0);
}
bool os_map_over(std::uintptr_t address, std::size_t bytes) {
    return map_exactly(address, bytes, anonymous | MAP_FIXED, -1, 0);
}
std::uintptr_t os_map_file_anywhere(std::size_t bytes, int fd, std::uint64_t offset) {
    return map(0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
}
void os_unmap(std::uintptr_t address, std::size_t bytes) {
    os_call(SYS_munmap, static_cast<long>(address), static_cast<long>(bytes));
}
bool os_move_pages(std::uintptr_t from, std::uintptr_t to, std::size_t bytes) {
    // Since Linux 5.7 the mapping itself stays. Without that, anybody could be given the hole that it would leave.
    constexpr long keep = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;
    return !failed(os_call(SYS_mremap, static_cast<long>(from), static_cast<long>(bytes), static_cast<long>(bytes),
                           keep, static_cast<long>(to)));
}
std::uintptr_t os_map_again(std::uintptr_t address, std::size_t bytes) {
    long there = os_call(SYS_mremap, static_cast<long>(address), 0, static_cast<long>(bytes), MREMAP_MAYMOVE);
    return failed(there) ? 0 : static_cast<std::uintptr_t>(there);
}
void os_move_mapping(std::uintptr_t from, std::uintptr_t to, std::size_t bytes) {
    os_call(SYS_mremap, static_cast<long>(from), static_cast<long>(bytes), static_cast<long>(bytes),
            MREMAP_MAYMOVE | MREMAP_FIXED, static_cast<long>(to));
}
bool os_wipe_on_fork(std::uintptr_t address, std::size_t bytes) {
    return !failed(os_call(SYS_madvise, static_cast<long>(address), static_cast<long>(bytes), MADV_WIPEONFORK));
}

std::uint64_t os_resident_bytes(std::uintptr_t address, std::size_t bytes) {
    constexpr std::size_t page = 4096, pages_at_once = 1024;
    unsigned char is_in[pages_at_once];
    std::uint64_t resident = 0;
    for (std::size_t at = 0; at < bytes; at += pages_at_once * page) {
        std::size_t now = bytes - at < pages_at_once * page ? bytes - at : pages_at_once * page;
        if (failed(os_call(SYS_mincore, static_cast<long>(address + at), static_cast<long>(now), bits_of(is_in))))
            continue;
        for (std::size_t i = 0; i < (now + page - 1) / page; ++i) resident += (is_in[i] & 1) * page;
    }
    return resident;
}

populated os_populate(std::uintptr_t address, std::size_t bytes) {
    constexpr long populate_write = 23; // MADV_POPULATE_WRITE, since Linux 5.14
    long result;
    do result = os_call(SYS_madvise, static_cast<long>(address), static_cast<long>(bytes), populate_write);
    while (result == -4 /* EINTR */);
    if (!failed(result)) return populated::yes;
    return result == -12 /* ENOMEM */ || result == -14 /* EFAULT */ ? populated::no_memory : populated::not_offered;
}

bool os_give_back(std::uintptr_t address, std::size_t bytes) {
    return !failed(os_call(SYS_madvise, static_cast<long>(address), static_cast<long>(bytes), MADV_DONTNEED));
}

int os_open(const char *path, int flags, unsigned mode) {
    return static_cast<int>(os_call(SYS_openat, AT_FDCWD, bits_of(path), flags | O_CLOEXEC, mode));
}
void os_close(int fd) { os_call(SYS_close, fd); }

long os_read(int fd, void *buffer, std::size_t bytes) {
    for (;;) {
        long got = os_call(SYS_read, fd, bits_of(buffer), static_cast<long>(bytes));
        if (got != -4 /* EINTR */) return got;
    }
}

long os_read_at(int fd, void *buffer, std::size_t bytes, std::uint64_t offset) {
    for (;;) {
        long got = os_call(SYS_pread64, fd, bits_of(buffer), static_cast<long>(bytes), static_cast<long>(offset));
        if (got != -4 /* EINTR */) return got;
    }
}

void os_write_all(int fd, const char *text, std::size_t bytes) {
    while (bytes != 0) {
        long put = os_call(SYS_write, fd, bits_of(text), static_cast<long>(bytes));
        if (put == -4 /* EINTR */) continue;
        if (put <= 0) return;
        text += put;
        bytes -= static_cast<std::size_t>(put);
    }
}

void os_write_quietly(int fd, const char *text, std::size_t bytes) {
    const signals_blocked quiet;
    constexpr std::uint64_t set = std::uint64_t{1} << (SIGPIPE - 1) | std::uint64_t{1} << (SIGXFSZ - 1);
    const timespec at_once{0, 0};
    std::uint64_t pending = 0;
    os_call(SYS_rt_sigpending, bits_of(&pending), sizeof pending);
    os_write_all(fd, text, bytes);
    // What the writing raised is taken back; what was waiting before it is not ours.
    const std::uint64_t ours = set & ~pending;
    os_call(SYS_rt_sigtimedwait, bits_of(&ours), 0, bits_of(&at_once), sizeof ours);
}

os_file_identity os_identity_of(int fd) {
    struct stat s;
    if (failed(os_call(SYS_fstat, fd, bits_of(&s)))) return {};
    const long signal = os_call(SYS_fcntl, fd, F_GETSIG, 0);
    return {true, failed(signal) ? 0 : static_cast<int>(signal), s.st_dev, s.st_ino};
}

void os_mark(int fd) {
    constexpr int unusual = 61;
    (void)os_call(SYS_fcntl, fd, F_SETSIG, unusual);
}

int os_duplicate(int fd, int least) { return static_cast<int>(os_call(SYS_fcntl, fd, F_DUPFD_CLOEXEC, least)); }

void os_working_folder(char *out, std::size_t size) {
    const long length = os_call(SYS_getcwd, bits_of(out), static_cast<long>(size - 1)); // with its terminator
    if (failed(length) || length < 2 || out[0] != '/') {
        out[0] = '\0';
        return;
    }
    if (out[length - 2] == '/') return;
    out[length - 1] = '/';
    out[length] = '\0';
}

bool os_make_directory(const char *path) {
    long result = os_call(SYS_mkdirat, AT_FDCWD, bits_of(path), 0700);
    return !failed(result) || result == -17 /* EEXIST */;
}

namespace {

// A file may not pass RLIMIT_FSIZE: the kernel would send SIGXFSZ, which ends a program. So that is asked first.
bool may_reach(std::uint64_t size) {
    rlimit limit{};
    if (failed(os_call(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, bits_of(&limit)))) return false;
    return limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= size;
}

// A signal ends it early where files are in memory.
long allocate(int fd, std::uint64_t offset, std::uint64_t bytes) {
    for (;;) {
        long result = os_call(SYS_fallocate, fd, 0, static_cast<long>(offset), static_cast<long>(bytes));
        if (result != -4 /* EINTR */) return result;
    }
}

} // namespace

bool os_allocate_file_space(int fd, std::uint64_t offset, std::uint64_t bytes) {
    return may_reach(offset + bytes) && !failed(allocate(fd, offset, bytes));
}

bool os_clear_file_space(int fd, std::uint64_t offset, std::uint64_t bytes) {
    if (!may_reach(offset + bytes)) return false;
    long result = allocate(fd, offset, bytes);
    if (result != -95 /* EOPNOTSUPP */) return !failed(result);
    constexpr std::size_t at_once = 1024;
    const char zeros[at_once] = {};
    for (std::uint64_t end = offset + bytes; offset < end;) {
        std::size_t left = end - offset < at_once ? end - offset : at_once;
        long put = os_call(SYS_pwrite64, fd, bits_of(zeros), static_cast<long>(left), static_cast<long>(offset));
        if (put == -4 /* EINTR */) continue;
        if (put <= 0) return false;
        offset += static_cast<std::uint64_t>(put);
    }
    return true;
}

std::int64_t os_regular_file_bytes(int fd) {
    struct stat s;
    if (failed(os_call(SYS_fstat, fd, bits_of(&s))) || !S_ISREG(s.st_mode)) return -1;
    return s.st_size;
}

os_file_facts os_facts_of(int fd) {
    struct stat s;
    if (failed(os_call(SYS_fstat, fd, bits_of(&s)))) return {};
    return {S_ISREG(s.st_mode), s.st_uid, s.st_dev, s.st_ino, static_cast<std::uint64_t>(s.st_size)};
}

bool os_set_file_bytes(int fd, std::uint64_t bytes) {
    return may_reach(bytes) && !failed(os_call(SYS_ftruncate, fd, static_cast<long>(bytes)));
}
bool os_link(const char *path, const char *to) {
    return !failed(os_call(SYS_linkat, AT_FDCWD, bits_of(path), AT_FDCWD, bits_of(to), 0));
}
bool os_rename(const char *path, const char *to) {
    return !failed(os_call(SYS_renameat2, AT_FDCWD, bits_of(path), AT_FDCWD, bits_of(to), 0));
}
bool os_lock_file(int fd) {
    constexpr long exclusive_at_once = 2 | 4; // LOCK_EX | LOCK_NB
    return !failed(os_call(SYS_flock, fd, exclusive_at_once));
}

long os_read_link(const char *path, char *buffer, std::size_t bytes) {
    return os_call(SYS_readlinkat, AT_FDCWD, bits_of(path), bits_of(buffer), static_cast<long>(bytes));
}

void os_remove_file(const char *path) { os_call(SYS_unlinkat, AT_FDCWD, bits_of(path), 0); }

long os_read_whole(const char *path, char *buffer, std::size_t size) {
    buffer[0] = '\0';
    int fd = os_open(path, O_RDONLY);
    if (fd < 0) return fd;
    std::size_t length = 0;
    long got = 1;
    while (got > 0 && length + 1 < size) {
        got = os_read(fd, buffer + length, size - 1 - length);
        if (got > 0) length += static_cast<std::size_t>(got);
    }
    buffer[length] = '\0';
    os_close(fd);
    return got < 0 ? got : static_cast<long>(length);
}

std::uint32_t os_pid() { return static_cast<std::uint32_t>(os_call(SYS_getpid)); }
std::uint32_t os_uid() { return static_cast<std::uint32_t>(os_call(SYS_getuid)); }
std::uint32_t os_tid() {
    if (cached_tid == 0) cached_tid = static_cast<std::uint32_t>(os_call(SYS_gettid));
    return cached_tid;
}
void os_child_start() { cached_tid = 0; }

std::uint64_t os_nanoseconds() {
    timespec now{};
    os_call(SYS_clock_gettime, CLOCK_MONOTONIC, bits_of(&now));
    return static_cast<std::uint64_t>(now.tv_sec) * 1000000000u + static_cast<std::uint64_t>(now.tv_nsec);
}

std::uint64_t os_random() {
    std::uint64_t value = 0;
    constexpr long nonblocking = 1;
    if (os_call(SYS_getrandom, bits_of(&value), sizeof value, nonblocking) == sizeof value) return value;
    // splitmix64 over what differs between processes
    value = os_nanoseconds() ^ static_cast<std::uint64_t>(bits_of(&value)) ^ (std::uint64_t{os_pid()} << 40);
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

std::uint64_t os_ram_bytes() {
    struct sysinfo info {};
    if (failed(os_call(SYS_sysinfo, bits_of(&info)))) return 0;
    return static_cast<std::uint64_t>(info.totalram) * info.mem_unit;
}

bool os_process_exists(std::uint32_t pid) { return os_call(SYS_kill, static_cast<long>(pid), 0) != -3 /* ESRCH */; }
void os_kill(std::uint32_t pid) {
    os_call(SYS_kill, static_cast<long>(pid), SIGKILL);
    // The kernel takes every thread down before any of them runs in user space again; pid 1 of a namespace alone is spared.
}

void os_yield() { os_call(SYS_sched_yield); }
void os_sleep(std::uint64_t nanoseconds) {
    timespec time{static_cast<time_t>(nanoseconds / 1000000000), static_cast<long>(nanoseconds % 1000000000)};
    os_call(SYS_nanosleep, bits_of(&time));
}

void os_futex_wait(const std::atomic<std::uint32_t> *word, std::uint32_t expected, std::uint32_t milliseconds) {
    timespec time{static_cast<time_t>(milliseconds / 1000), static_cast<long>(milliseconds % 1000) * 1000000};
    os_call(SYS_futex, bits_of(word), FUTEX_WAIT, expected, milliseconds == 0 ? 0 : bits_of(&time));
}
void os_futex_wake(const std::atomic<std::uint32_t> *word, std::uint32_t waiters) {
    os_call(SYS_futex, bits_of(word), FUTEX_WAKE, waiters);
}

namespace {
// How many signals_blocked this thread is inside of. Changed only while signals are blocked, so a handler that could see
// it finds 0 and blocks for itself.
constinit thread_local std::uint32_t quiet_depth = 0;
} // namespace

signals_blocked::signals_blocked() : before_(0), failed_(0) {
    if (quiet_depth != 0) {
        ++quiet_depth;
        return;
    }
    constexpr int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS};
    std::uint64_t all = ~std::uint64_t{0};
    for (int fault : faults) all &= ~(std::uint64_t{1} << (fault - 1));
    failed_ = os_call(SYS_rt_sigprocmask, SIG_BLOCK, bits_of(&all), bits_of(&before_), sizeof all);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    ++quiet_depth;
}
signals_blocked::~signals_blocked() {
    if (--quiet_depth != 0) return;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (failed_ == 0) os_call(SYS_rt_sigprocmask, SIG_SETMASK, bits_of(&before_), 0, sizeof before_);
}

membarrier_mode os_membarrier_start() {
    long result = os_call(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
    membarrier_mode mode = failed(result) ? membarrier_mode::unavailable : membarrier_mode::private_expedited;
    os_set_membarrier_mode(mode);
    return mode;
}

bool os_membarrier(membarrier_mode mode) {
    switch (mode) {
    case membarrier_mode::pretended: return true;
    case membarrier_mode::unavailable: return false;
    case membarrier_mode::private_expedited: break;
    }
    // A full barrier for the caller too, by the call's contract; os_call is one for the compiler.
    return !failed(os_call(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0));
}

void os_set_membarrier_mode(membarrier_mode mode) { membarrier_mode_here.store(mode, std::memory_order_relaxed); }

bool os_register_membarrier_of_all() {
    return !failed(os_call(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0));
}
bool os_membarrier_of_all() { return !failed(os_call(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0)); }

} // namespace allot
