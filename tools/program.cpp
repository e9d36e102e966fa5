#include "tools/program.hpp"

#include "tools/elf_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace allot {
namespace {

namespace fs = std::filesystem;

bool is_executable_file(const std::string &path) {
    struct stat st;
    return stat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode) && access(path.c_str(), X_OK) == 0;
}

std::string file_name(const std::string &path) { return fs::path(path).filename(); }

// The words of a first line "#! INTERPRETER [ARGUMENT]", as the kernel cuts them: everything after the interpreter is one
// argument. Empty: no script.
std::vector<std::string> interpreter_line(const std::string &path) {
    std::ifstream in(path, std::ios::binary);
    std::array<char, 256> start{}; // as much as the kernel looks at
    in.read(start.data(), start.size() - 1);
    std::string line = start.data();
    if (!line.starts_with("#!")) return {};
    line = line.substr(2, line.find('\n') == std::string::npos ? std::string::npos : line.find('\n') - 2);
    const auto trim = [](std::string text) {
        const std::size_t first = text.find_first_not_of(" \t\r");
        if (first == std::string::npos) return std::string();
        return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
    };
    line = trim(line);
    const std::size_t end = line.find_first_of(" \t");
    if (end == std::string::npos) return {line};
    return {line.substr(0, end), trim(line.substr(end))};
}

// Of `env [-S] [OPTION]... [NAME=VALUE]... PROGRAM ...` the program; empty when it cannot be told.
std::string program_of_env(const std::string &argument) {
    std::istringstream words(argument);
    for (std::string word; words >> word;)
        if (!word.starts_with('-') && word.find('=') == std::string::npos) return word;
    return {};
}

// What the loader says of a program, with nothing preloaded into it. Asked to list, it goes on past a missing library,
// which its --list does not.
std::string loader_output(const std::vector<std::string> &command) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return {};
    const pid_t child = fork();
    if (child == 0) {
        const int null = open("/dev/null", O_RDWR);
        dup2(null, STDIN_FILENO);
        dup2(ends[1], STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        unsetenv("LD_PRELOAD");
        setenv("LD_TRACE_LOADED_OBJECTS", "1", 1); // the loader lists what it would load, and ends
        std::vector<char *> argv;
        for (const std::string &word : command) argv.push_back(const_cast<char *>(word.c_str()));
        argv.push_back(nullptr);
        execv(argv[0], argv.data());
        _exit(127);
    }
    close(ends[1]);
    std::string out;
    std::array<char, 4096> buffer;
    for (ssize_t n = 0; child > 0 && (n = read(ends[0], buffer.data(), buffer.size())) > 0;)
        out.append(buffer.data(), static_cast<std::size_t>(n));
    close(ends[0]);
    if (child > 0) waitpid(child, nullptr, 0);
    return out;
}

// Libraries the loader does not find: "libx.so.1 => not found". Only glibc's own loader is ever asked.
std::vector<std::string> missing_libraries(const std::string &program, const std::string &loader) {
    std::vector<std::string> missing;
    std::istringstream lines(loader_output({loader, program}));
    for (std::string line; std::getline(lines, line);)
        if (line.find("=> not found") != std::string::npos) {
            const std::size_t start = line.find_first_not_of(" \t");
            missing.push_back(line.substr(start, line.find(' ', start) - start));
        }
    return missing;
}

void judge_needed(const elf_facts &facts, program_verdict &verdict) {
    for (const std::string &library : facts.needed)
        for (const char *allocator : {"libjemalloc", "libtcmalloc", "libmimalloc", "libtbbmalloc"})
            if (library.starts_with(allocator))
                verdict.notes.push_back(fmt::format(
                    "it links {}, which is replaced: its malloc is counted, that library's own statistics stand still",
                    library));
}

void judge_known(const std::string &name, program_verdict &verdict) {
    // Programs whose files do not show it: the allocator is inside and exported under other names.
    for (const char *browser : {"chrome", "chromium", "firefox", "thunderbird", "electron"})
        if (name.starts_with(browser))
            verdict.obstacles.push_back(
                "it brings an allocator of its own; only what that maps through libc is counted");
    for (const char *runtime : {"java", "node", "nodejs"})
        if (name == runtime)
            verdict.notes.push_back(
                "its own heap is mapped memory: it is counted with --account all, not with --account heap");
}

void judge_elf(const std::string &path, const elf_facts &facts, program_verdict &verdict) {
    if (!facts.same_kind) {
        verdict.obstacles.push_back(fmt::format("it is a {}-bit program for {}; the preload library is of another kind",
                                                facts.bits, machine_name(facts.machine)));
        return;
    }
    if (facts.interpreter.empty()) {
        verdict.obstacles.push_back(facts.is_go
                                        ? "it is a Go program without cgo: static, and it takes memory by its own "
                                          "system calls"
                                        : "it is statically linked: no loader runs that could preload a library");
        return;
    }
    const std::string loader = file_name(facts.interpreter);
    if (loader.starts_with("ld-musl")) {
        verdict.obstacles.push_back("it is linked with musl; the preload library needs glibc");
        return;
    }
    if (!loader.starts_with("ld-linux")) {
        verdict.obstacles.push_back(fmt::format("its loader {} is not glibc's", facts.interpreter));
        return;
    }
    if (!is_executable_file(facts.interpreter)) {
        verdict.obstacles.push_back(fmt::format("its loader {} is missing", facts.interpreter));
        return;
    }
    if (facts.is_go)
        verdict.obstacles.push_back(
            "it is a Go program: it takes memory by its own system calls, past malloc and mmap");
    else if (facts.defines_malloc)
        verdict.obstacles.push_back(
            "it defines malloc itself, which comes before a preloaded one; only what that maps through "
            "libc is counted");
    for (const std::string &library : missing_libraries(path, facts.interpreter))
        verdict.obstacles.push_back(fmt::format("the library {} it needs is missing", library));
    judge_needed(facts, verdict);
}

void judge_file(const std::string &path, const std::string &name, unsigned depth, program_verdict &verdict) {
    constexpr unsigned deepest = 5; // as many interpreters as the kernel follows
    verdict.chain.push_back(path);
    if (std::string reason = secure_mode_reason(path, own_identity()); !reason.empty())
        verdict.obstacles.push_back(reason);
    if (const auto facts = read_elf(path)) {
        judge_elf(path, *facts, verdict);
        judge_known(name, verdict);
        return;
    }
    const std::vector<std::string> line = interpreter_line(path);
    if (line.empty() || line[0].empty()) {
        // execvp falls back to the shell for a text without a first line that says what runs it.
        if (access(path.c_str(), R_OK) != 0)
            verdict.notes.push_back("it cannot be read: nothing is known about it");
        else if (depth < deepest)
            judge_file("/bin/sh", "sh", depth + 1, verdict);
        return;
    }
    std::string interpreter = line[0];
    if (file_name(interpreter) == "env" && line.size() > 1) {
        const std::string program = find_program(program_of_env(line[1]));
        if (!program.empty()) interpreter = program;
    }
    if (!is_executable_file(interpreter))
        verdict.obstacles.push_back(fmt::format("its interpreter {} is missing", interpreter));
    else if (depth < deepest)
        judge_file(interpreter, file_name(interpreter), depth + 1, verdict);
}

} // namespace

identity own_identity() { return {geteuid(), getegid()}; }

std::string secure_mode_reason(const std::string &path, identity who) {
    struct stat st;
    if (stat(path.c_str(), &st) != 0) return {};
    if ((st.st_mode & S_ISUID) != 0 && st.st_uid != who.uid)
        return "it is setuid: the loader ignores LD_PRELOAD in a program with more rights than its user";
    // Without execution by the group, the bit means mandatory locking and changes nobody.
    if ((st.st_mode & S_ISGID) != 0 && (st.st_mode & S_IXGRP) != 0 && st.st_gid != who.gid)
        return "it is setgid: the loader ignores LD_PRELOAD in a program with more rights than its user";
    if (who.uid != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0)
        return "it has file capabilities: the loader ignores LD_PRELOAD in a program with more rights than its user";
    return {};
}

std::string find_program(const std::string &name) {
    if (name.empty()) return {};
    if (name.find('/') != std::string::npos) return name;
    const char *variable = getenv("PATH");
    std::istringstream folders(variable != nullptr ? variable : "/bin:/usr/bin");
    std::string unusable;
    for (std::string folder; std::getline(folders, folder, ':');) {
        const std::string path = (folder.empty() ? std::string(".") : folder) + "/" + name;
        if (is_executable_file(path)) return path;
        if (unusable.empty() && fs::exists(path)) unusable = path;
    }
    return unusable;
}

program_verdict judge_program(const std::vector<std::string> &command) {
    program_verdict verdict;
    const std::string path = find_program(command.front());
    struct stat st;
    if (path.empty() || stat(path.c_str(), &st) != 0)
        verdict.is_found = found::no;
    else if (!is_executable_file(path))
        verdict.is_found = found::not_executable;
    else
        judge_file(path, file_name(path), 0, verdict);
    return verdict;
}

} // namespace allot
