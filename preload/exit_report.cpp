#include "preload/exit_report.hpp"

#include "accounting/accounting.hpp"
#include "accounting/base/os.hpp"
#include "accounting/base/report.hpp"
#include "accounting/options.hpp"
#include "accounting/own_report.hpp"
#include "accounting/text.hpp"
#include "alloc/alloc.hpp"

#include <cstdlib>
#include <fcntl.h>

namespace allot {

namespace {

// All of it written by the constructor alone, read at the end.
constexpr std::size_t command_capacity = std::size_t{16} << 10;
constexpr std::size_t folder_capacity = 4096;
char command[command_capacity]; // words, each terminated; kept, since programs overwrite theirs with a title
std::size_t command_bytes;
char folder[folder_capacity]; // where a relative file name starts from; empty for an absolute one
int kept_stderr = -1;
os_file_identity stderr_identity{};

// One report at a time: whoever calls exit() twice has no defined behaviour anyway.
char buffer[std::size_t{32} << 10];

void keep_command() {
    const long length = os_read_whole("/proc/self/cmdline", command, sizeof command);
    if (length <= 0) {
        copy_text(options_get().program, command, sizeof command);
        command_bytes = text_length(command) + 1;
        return;
    }
    command_bytes = static_cast<std::size_t>(length);
    if (command_bytes + 1 < sizeof command) return;
    copy_text("...", command + sizeof command - 4, 4); // what does not fit is cut
    command_bytes = sizeof command;
}

void keep_stderr() {
    constexpr int high_number = 200, any_number = 10; // out of the way of what the program counts on
    stderr_identity = os_identity_of(STDERR_FILENO);
    if (!stderr_identity.known) return;
    kept_stderr = os_duplicate(STDERR_FILENO, high_number);
    if (kept_stderr < 0) kept_stderr = os_duplicate(STDERR_FILENO, any_number);
}

// The descriptor of what was standard error at the start, or -1.
int first_stderr() {
    for (const int fd : {STDERR_FILENO, kept_stderr}) {
        if (fd < 0 || !stderr_identity.known) continue;
        const os_file_identity now = os_identity_of(fd);
        if (now.known && now.device == stderr_identity.device && now.inode == stderr_identity.inode) return fd;
    }
    return -1;
}

int open_report_file(const options &o) {
    char expanded[line_writer::capacity];
    char name[folder_capacity + sizeof expanded];
    expand_file_name(o.report_file, expanded, sizeof expanded);
    copy_text(folder, name, sizeof name);
    copy_text(expanded, name + text_length(folder), sizeof name - text_length(folder));
    const int fd = os_open(name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NOCTTY, 0666);
    if (fd < 0) {
        line_writer line;
        line.text("allot: the report cannot be written to ").text(name).text(" (error ").signed_number(-fd).text(")\n");
        const int to = first_stderr();
        if (to >= 0) os_write_quietly(to, line.c_str(), line.length());
    }
    return fd;
}

void put(void *fd, const char *text, std::size_t length) { os_write_quietly(*static_cast<int *>(fd), text, length); }

void report_now(int status, void *) {
    const options &o = options_get();
    (void)heap_active(); // makes the books ready for this process, which may be the child of a fork
    accounting_finish();
    int fd = o.report == report_target::file ? open_report_file(o) : first_stderr();
    if (fd < 0) return;
    text_sink out(buffer, sizeof buffer, put, &fd);
    write_own_report(out, {o.json ? report_form::json : report_form::text, command, command_bytes, status & 0xff});
    if (o.report == report_target::file) os_close(fd);
}

} // namespace

void exit_report_prepare() {
    const options &o = options_get();
    const bool wanted = o.report != report_target::off || o.json;
    if (!wanted || o.excluded || o.hierarchy[0] != '\0') return;
    keep_command();
    keep_stderr();
    if (o.report == report_target::file && o.report_file[0] != '/') os_working_folder(folder, sizeof folder);
    on_exit(report_now, nullptr);
}

} // namespace allot
