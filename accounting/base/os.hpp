// The system calls of the libraries, all of them, made without libc.
//
// They exist because the libraries run before libc is initialised, inside its locks and after its end, must not change
// errno, and must not be seen by the wrappers that the preload library puts around mmap and its kin.
//
// Threads: any thread, any signal handler.
// Owner: descriptors and mappings belong to the caller.
// Invariants: 1. errno is never touched; a failure is a value.
//             2. A refusal (seccomp, old kernel) is reported like any other failure, never fatal.
// Cost: one system call each; os_tid() caches in the thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allot {

// Result as the kernel gives it: a negative errno in -4095..-1 means failure.
long os_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0);

// --- memory: addresses as integers, 0 or false means failure ---------------------------------------------------------
[[nodiscard]] std::uintptr_t os_map(std::size_t bytes);     // zeroed, readable and writable, anywhere
[[nodiscard]] std::uintptr_t os_reserve(std::size_t bytes); // address space alone: PROT_NONE, costs nothing
[[nodiscard]] bool os_map_free(std::uintptr_t address, std::size_t bytes); // there, if nothing is there
[[nodiscard]] bool os_map_over(std::uintptr_t address, std::size_t bytes); // there, over what is there
[[nodiscard]] std::uintptr_t os_map_file_anywhere(std::size_t bytes, int fd, std::uint64_t offset); // shared
void os_unmap(std::uintptr_t address, std::size_t bytes);
// Somewhere else, the same pages of a shared mapping once more. 0: refused.
[[nodiscard]] std::uintptr_t os_map_again(std::uintptr_t address, std::size_t bytes);
// A mapping to where another one is, which goes.
void os_move_mapping(std::uintptr_t from, std::uintptr_t to, std::size_t bytes);
// Moves the pages of a mapping to another one's place; what was there goes. Zeros, and no memory, are left behind. False:
// nothing was moved, but what was there may be gone, and nothing in its place: Linux unmaps it before it looks at limits and
// at whether all is one mapping. Where it moves several, since 6.17, the first of them may have moved.
[[nodiscard]] bool os_move_pages(std::uintptr_t from, std::uintptr_t to, std::size_t bytes);
[[nodiscard]] bool os_wipe_on_fork(std::uintptr_t address, std::size_t bytes); // a forked child finds zeros there
// How much of a mapping is in memory, in whole OS pages; of what is not mapped, or where nobody says: 0.
[[nodiscard]] std::uint64_t os_resident_bytes(std::uintptr_t address, std::size_t bytes);
// Has the memory of a mapping there, written or not. no_memory: its file system, or its group, has no more.
enum class populated : std::uint32_t { yes, no_memory, not_offered };
[[nodiscard]] populated os_populate(std::uintptr_t address, std::size_t bytes);
bool os_give_back(std::uintptr_t address,
                  std::size_t bytes); // contents become zero, memory goes back; false: forbidden

// --- files -----------------------------------------------------------------------------------------------------------
[[nodiscard]] int os_open(const char *path, int flags, unsigned mode = 0); // close-on-exec is always added
void os_close(int fd);
[[nodiscard]] long os_read(int fd, void *buffer, std::size_t bytes);
[[nodiscard]] long os_read_at(int fd, void *buffer, std::size_t bytes, std::uint64_t offset);
void os_write_all(int fd, const char *text, std::size_t bytes);     // as much as goes; a message has nobody to fail to
void os_write_quietly(int fd, const char *text, std::size_t bytes); // and neither a broken pipe nor a full file kills
// Which file a descriptor stands for, to see later whether it still does.
struct os_file_identity {
    bool known; // it is open
    int signal; // see os_mark
    std::uint64_t device, inode;
};
[[nodiscard]] os_file_identity os_identity_of(int fd);
// Tells a file without a name from all others of the system, which have one inode together (eventfd, epoll, timerfd): by
// the signal that it would send if it sent any. Such files send none, so nobody chooses one for them.
void os_mark(int fd);
[[nodiscard]] int os_duplicate(int fd, int least);      // a number of at least that, close-on-exec; or a negative errno
void os_working_folder(char *out, std::size_t size);    // with a slash behind it; empty where it has no name
[[nodiscard]] bool os_make_directory(const char *path); // 0700; true also if it is there
[[nodiscard]] bool os_allocate_file_space(int fd, std::uint64_t offset, std::uint64_t bytes);
// The same for space that nobody else writes to, also where the file system cannot reserve any: it becomes zero.
[[nodiscard]] bool os_clear_file_space(int fd, std::uint64_t offset, std::uint64_t bytes);
[[nodiscard]] std::int64_t os_regular_file_bytes(int fd); // its size; -1: it is no regular file
struct os_file_facts {
    bool is_regular;
    std::uint32_t uid;
    std::uint64_t device, inode, bytes;
};
[[nodiscard]] os_file_facts os_facts_of(int fd); // zeros: nobody says
[[nodiscard]] bool os_set_file_bytes(int fd, std::uint64_t bytes);
[[nodiscard]] bool os_link(const char *path, const char *to); // false: the name is taken, or it cannot be
[[nodiscard]] bool os_rename(const char *path, const char *to);
[[nodiscard]] bool os_lock_file(int fd); // until it is closed; false: another has it
[[nodiscard]] long os_read_link(const char *path, char *buffer, std::size_t bytes);
void os_remove_file(const char *path);
// Of the whole file, cut to fit, always terminated; the length, or a negative errno.
long os_read_whole(const char *path, char *buffer, std::size_t size);

// --- who we are ------------------------------------------------------------------------------------------------------
std::uint32_t os_pid();
std::uint32_t os_tid(); // of this thread; cached, see os_child_start()
std::uint32_t os_uid();
[[nodiscard]] bool os_process_exists(std::uint32_t pid); // also as a zombie; false: surely not
void os_kill(std::uint32_t pid);                         // SIGKILL; of this process: does not come back
std::uint64_t os_random();                               // not for secrets: falls back to the clock and addresses
std::uint64_t os_ram_bytes();
std::uint64_t os_nanoseconds(); // monotonic
void os_child_start();          // forgets the cached thread id, which is the parent's
// Ends this thread's waiting for a moment, for loops that wait for another thread.
void os_yield();
void os_sleep(std::uint64_t nanoseconds); // a signal that is handled ends it
inline void os_pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

// --- waiting: a shared futex, since words may lie in a file that processes share ---------------------------------------
// Returns when woken, when the word has another value, or after the time; the caller looks again in every case.
void os_futex_wait(const std::atomic<std::uint32_t> *word, std::uint32_t expected,
                   std::uint32_t milliseconds = 0); // 0: for ever
void os_futex_wake(const std::atomic<std::uint32_t> *word, std::uint32_t waiters);

// --- signals -----------------------------------------------------------------------------------------------------------
// While it lives, no handler runs in this thread, except for faults of its own code. Only the outermost one of a thread
// asks the system.
class signals_blocked {
public:
    signals_blocked();
    ~signals_blocked();
    signals_blocked(const signals_blocked &) = delete;
    signals_blocked &operator=(const signals_blocked &) = delete;

private:
    std::uint64_t before_;
    long failed_;
};

// --- membarrier ----------------------------------------------------------------------------------------------------------
enum class membarrier_mode : std::uint32_t {
    unavailable,       // stocks are not used by the fast path: every operation is a slow one, see charge.cpp
    private_expedited, // orders the threads of this process
    pretended,         // tests alone: the control that must be seen to fail
};
// Registers this process; in a process with one thread that is quick (under 1 us against 20 ms later).
membarrier_mode os_membarrier_start();
[[nodiscard]] bool os_membarrier(membarrier_mode); // false: the system refuses it
// For tests, and for a process that is about to forbid itself system calls. Call through membarrier_forbid() where
// contexts may hold stock.
void os_set_membarrier_mode(membarrier_mode);
// Written at start, by tests, and where a process stops calling membarrier; read by everyone who drains or is to be ordered
// by it. relaxed: whoever starts a thread orders it.
[[gnu::visibility("hidden")]] extern constinit std::atomic<membarrier_mode> membarrier_mode_here;
inline membarrier_mode os_membarrier_mode() { return membarrier_mode_here.load(std::memory_order_relaxed); }
// Orders the threads of all processes that have registered for it, and this thread. False: refused.
[[nodiscard]] bool os_register_membarrier_of_all();
[[nodiscard]] bool os_membarrier_of_all();

} // namespace allot
