#include "accounting/environment.hpp"

#include "accounting/base/os.hpp"
#include "accounting/base/proc.hpp"
#include "accounting/text.hpp"

#include <fcntl.h>
#include <sys/auxv.h>
#include <unistd.h>

namespace allot {
namespace {

char *no_entries[] = {nullptr};

const char *after_last_slash(const char *path) {
    const char *name = path;
    for (const char *p = path; *p != '\0'; ++p)
        if (*p == '/') name = p + 1;
    return name;
}

// Reads the whole file into `buffer` as far as it fits; what was read, or -1.
long read_file(const char *path, char *buffer, std::size_t size) {
    const int fd = os_open(path, O_RDONLY);
    if (fd < 0) return -1;
    std::size_t have = 0;
    while (have < size) {
        const long n = os_read(fd, buffer + have, size - have);
        if (n <= 0) break;
        have += static_cast<std::size_t>(n);
    }
    os_close(fd);
    return static_cast<long>(have);
}

} // namespace

process_environment::process_environment(char **given) : entries_(no_entries) {
    if (given != nullptr)
        entries_ = given;
    else if (environ != nullptr)
        entries_ = environ;
    else
        read_proc();
}

process_environment::~process_environment() {
    if (mapping_ != 0) os_unmap(mapping_, mapping_bytes_);
}

void process_environment::read_proc() {
    // The file has no size to ask for: read into twice as much until it fits. The kernel's own bound is 6 MiB.
    constexpr std::size_t largest = std::size_t{16} << 20;
    for (std::size_t text_bytes = std::size_t{64} << 10; text_bytes <= largest; text_bytes *= 2) {
        // Room for the text and, behind it, for a pointer to each entry: an entry is at least its terminator.
        const std::size_t total = text_bytes + (text_bytes + 1) * sizeof(char *);
        const std::uintptr_t address = os_map(total);
        if (address == 0) return;
        auto *text = reinterpret_cast<char *>(address);
        const long length = read_file("/proc/self/environ", text, text_bytes);
        const bool complete = length >= 0 && static_cast<std::size_t>(length) < text_bytes;
        if (!complete) {
            os_unmap(address, total);
            if (length < 0) return;
            continue;
        }
        auto **pointers = reinterpret_cast<char **>(text + text_bytes);
        std::size_t n = 0;
        for (long i = 0; i < length; ++i)
            if (i == 0 || text[i - 1] == '\0') pointers[n++] = text + i;
        pointers[n] = nullptr;
        entries_ = pointers;
        mapping_ = address;
        mapping_bytes_ = total;
        return;
    }
}

bool process_is_secure() { return getauxval(AT_SECURE) != 0; }

void program_file_name(char *out, std::size_t size) {
    const auto *path = reinterpret_cast<const char *>(getauxval(AT_EXECFN));
    copy_text(path == nullptr ? "" : after_last_slash(path), out, size);
}

void executable_file_name(char *out, std::size_t size) {
    char path[4097];
    copy_text(proc_executable(path, sizeof path), out, size);
}

} // namespace allot
