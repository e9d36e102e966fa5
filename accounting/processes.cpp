#include "accounting/processes.hpp"

#include "accounting/base/os.hpp"
#include "accounting/shared/members.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstring>

namespace allot {

namespace {

// Fields of /proc/PID/stat after the command, which is in parentheses and may contain anything: state is the first.
constexpr int field_parent = 1, field_start_time = 19, field_start_of_stack = 25;

std::uint64_t field_of(const char *stat, int wanted) {
    const char *at = std::strrchr(stat, ')');
    if (at == nullptr) return 0;
    for (++at; *at == ' ' && wanted > 0; --wanted)
        for (++at; *at != ' ' && *at != '\0'; ++at) {}
    std::uint64_t value = 0;
    for (; *at == ' '; ++at) {}
    for (; *at >= '0' && *at <= '9'; ++at) value = value * 10 + static_cast<std::uint64_t>(*at - '0');
    return value;
}

// "self" where we ask about ourselves: a mounted /proc may count process ids otherwise than we do.
bool read_stat(std::uint32_t pid, char *buffer, std::size_t size) {
    line_writer path;
    path.text("/proc/");
    if (pid == os_pid())
        path.text("self");
    else
        path.number(pid);
    return os_read_whole(path.text("/stat").c_str(), buffer, size) > 0;
}

void name_executable(process &p) {
    long length = os_read_link("/proc/self/exe", p.executable, sizeof p.executable - 1);
    p.executable[length > 0 ? length : 0] = '\0';
    const char *name = std::strrchr(p.executable, '/');
    name = name == nullptr ? p.executable : name + 1;
    std::size_t fits = 0;
    while (fits + 1 < sizeof p.name && name[fits] != '\0') ++fits;
    std::memcpy(p.name, name, fits);
    p.name[fits] = '\0';
}

} // namespace

process_identity identity_of(std::uint32_t pid) {
    char stat[1024];
    if (!read_stat(pid, stat, sizeof stat)) return {};
    return {field_of(stat, field_start_time), field_of(stat, field_start_of_stack)};
}

bool process_is_alive(std::uint32_t pid, process_identity identity) {
    if (os_call(SYS_kill, pid, 0) == -ESRCH) return false;
    char stat[1024];
    if (!read_stat(pid, stat, sizeof stat)) return false;
    const char *state = std::strrchr(stat, ')');
    if (state != nullptr && (std::strncmp(state, ") Z", 3) == 0 || std::strncmp(state, ") X", 3) == 0)) return false;
    // The kernel shows a start of stack of 0 or 1 to those it hides addresses from: then only the start time counts.
    std::uint64_t stack = field_of(stat, field_start_of_stack);
    return field_of(stat, field_start_time) == identity.start_time &&
           (stack <= 1 || identity.start_of_stack <= 1 || stack == identity.start_of_stack);
}

std::uint64_t pid_namespace() {
    char text[64];
    long length = os_read_link("/proc/self/ns/pid", text, sizeof text - 1); // "pid:[4026531836]"
    text[length > 0 ? length : 0] = '\0';
    std::uint64_t inode = 0;
    for (const char *at = text; *at != '\0'; ++at)
        if (*at >= '0' && *at <= '9') inode = inode * 10 + static_cast<std::uint64_t>(*at - '0');
    return inode;
}

std::uint32_t process_register() {
    std::uint32_t index = record_new<process>();
    if (index == 0) return 0;
    process &p = record_at<process>(index);
    std::memset(static_cast<void *>(&p), 0, sizeof p);
    char stat[1024];
    bool known = read_stat(os_pid(), stat, sizeof stat);
    p.index = index;
    p.pid = os_pid();
    p.start_time = known ? field_of(stat, field_start_time) : 0;
    p.start_of_stack = known ? field_of(stat, field_start_of_stack) : 0;
    p.parent = known ? static_cast<std::uint32_t>(field_of(stat, field_parent)) : 0;
    name_executable(p);
    p.state.store(process_state::running, std::memory_order_release);
    return index;
}

void process_note_uncounted(std::int64_t bytes) {
    if (shared::this_member != 0) shared::member_note_uncounted(bytes);
    const std::uint32_t index = region().process;
    if (index == 0) return;
    process &p = record_at<process>(index);
    std::uint64_t before = p.uncounted.load(std::memory_order_relaxed);
    std::uint64_t after;
    do {
        const bool fits = bytes >= 0 || before >= static_cast<std::uint64_t>(-bytes);
        after = fits ? before + static_cast<std::uint64_t>(bytes) : 0;
    } while (!p.uncounted.compare_exchange_weak(before, after, std::memory_order_relaxed));
    std::uint64_t peak = p.uncounted_peak.load(std::memory_order_relaxed);
    while (peak < after && !p.uncounted_peak.compare_exchange_weak(peak, after, std::memory_order_relaxed)) continue;
}

} // namespace allot
