#include "accounting/base/proc.hpp"

#include "accounting/base/os.hpp"
#include "accounting/base/report.hpp"

#include <cstring>

namespace allot {

namespace {

// What a link such as "pid:[4026531836]" counts to.
std::uint64_t number_in_link(const char *path) {
    char text[64];
    const long length = os_read_link(path, text, sizeof text);
    std::uint64_t number = 0;
    for (long i = 0; i < length; ++i)
        if (text[i] >= '0' && text[i] <= '9') number = number * 10 + static_cast<std::uint64_t>(text[i] - '0');
    return number;
}

proc_stat read_stat(const char *path) {
    proc_stat s{};
    char text[1024];
    if (os_read_whole(path, text, sizeof text) <= 0) return s;
    const char *at = std::strrchr(text, ')'); // ends the command, which may contain anything
    if (at == nullptr || at[1] != ' ') return s;
    s.state = at[2];
    for (int field = 2; *at != '\0'; ++field) { // the command's is the second
        std::uint64_t value = 0;
        for (; *at != ' ' && *at != '\0'; ++at)
            if (*at >= '0' && *at <= '9') value = value * 10 + static_cast<std::uint64_t>(*at - '0');
        if (field == 4) s.parent = value;
        if (field == 20) s.nr_threads = value;
        if (field == 22) s.start_time = value;
        if (field == 28) s.start_of_stack = value;
        while (*at == ' ') ++at;
    }
    return s;
}

} // namespace

proc_stat proc_stat_of(std::uint32_t pid) {
    if (pid == os_pid()) return read_stat("/proc/self/stat");
    // A mounted /proc may count ids otherwise than we do.
    if (number_in_link("/proc/self") != os_pid()) return {};
    line_writer path;
    return read_stat(path.text("/proc/").number(pid).text("/stat").c_str());
}

proc_stat proc_stat_of_thread(std::uint32_t pid, std::uint32_t thread) {
    line_writer path;
    return read_stat(path.text("/proc/").number(pid).text("/task/").number(thread).text("/stat").c_str());
}

std::uint64_t proc_pid_namespace() { return number_in_link("/proc/self/ns/pid"); }

const char *proc_executable(char *path, std::size_t size) {
    const long length = os_read_link("/proc/self/exe", path, size - 1);
    path[length > 0 ? length : 0] = '\0';
    const char *slash = std::strrchr(path, '/');
    return slash == nullptr ? path : slash + 1;
}

} // namespace allot
