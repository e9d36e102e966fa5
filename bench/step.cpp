// step [--dump FILE] -- BENCHMARK ARGS --iterations N --traps: runs a benchmark one instruction at a time between its two
// traps and counts what it executes: instructions, locked ones, fences, system calls.
//
// It exists beside callgrind because it runs the program on the real processor and kernel: system calls that valgrind
// does not know (membarrier, rseq) behave as they do in production, so the path that is counted is the path that runs.
// With --dump it writes each executed instruction in order, as `file offset` in hexadecimal, for bench/fast_path to
// disassemble.
//
// Cost: 3 to 30 microseconds an instruction (the latter on a virtual machine). x86-64 only. Only the main thread is followed.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sched.h>
#include <string>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unordered_map>
#include <vector>

#if !defined(__x86_64__)
int main() {
    std::fputs("step: only x86-64 is supported\n", stderr);
    return 1;
}
#else

namespace {

[[noreturn]] void fail(const char *what) {
    std::fprintf(stderr, "step: %s\n", what);
    std::exit(2);
}

enum class instruction_class : std::uint8_t { plain, locked, fence, system_call, repeated, trap };

bool is_legacy_prefix(std::uint8_t b) {
    return b == 0x66 || b == 0x67 || b == 0xf2 || b == 0xf3 || b == 0x2e || b == 0x36 || b == 0x3e || b == 0x26 ||
           b == 0x64 || b == 0x65 || b == 0xf0;
}

bool is_string_operation(std::uint8_t opcode) {
    return (opcode >= 0xa4 && opcode <= 0xa7) || (opcode >= 0xaa && opcode <= 0xaf);
}

// Enough of the encoding to tell the classes apart: prefixes, opcode, and the mode bits of the byte after it.
instruction_class classify(const std::uint8_t *bytes, std::size_t size) {
    if (bytes[0] == 0xcc) return instruction_class::trap;
    std::size_t at = 0;
    bool has_lock = false;
    bool has_repeat = false;
    for (; at + 3 < size && is_legacy_prefix(bytes[at]); ++at) {
        has_lock |= bytes[at] == 0xf0;
        has_repeat |= bytes[at] == 0xf2 || bytes[at] == 0xf3;
    }
    if ((bytes[at] & 0xf0) == 0x40) ++at; // REX
    const std::uint8_t opcode = bytes[at];
    const std::uint8_t next = bytes[at + 1];
    // xchg with memory locks without a prefix.
    if (has_lock || ((opcode == 0x86 || opcode == 0x87) && next < 0xc0)) return instruction_class::locked;
    if (opcode == 0x0f && next == 0x05) return instruction_class::system_call;
    if (opcode == 0x0f && next == 0xae && bytes[at + 2] >= 0xe8) // lfence, mfence, sfence
        return instruction_class::fence;
    if (has_repeat && is_string_operation(opcode)) return instruction_class::repeated;
    return instruction_class::plain;
}

struct counts {
    std::uint64_t instructions = 0;
    std::uint64_t locked = 0;
    std::uint64_t fences = 0;
    std::uint64_t system_calls = 0;
};

class tracee {
public:
    explicit tracee(char **command) {
        // One CPU for both: handing over is then a switch and not a wake-up of another CPU.
        cpu_set_t cpus;
        if (sched_getaffinity(0, sizeof cpus, &cpus) == 0) keep_last(cpus);
        pid_ = fork();
        if (pid_ < 0) fail("fork failed");
        if (pid_ == 0) {
            ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
            if (const char *preload = std::getenv("STEP_PRELOAD"); preload != nullptr) setenv("LD_PRELOAD", preload, 1);
            execvp(command[0], command);
            std::fprintf(stderr, "step: %s: %s\n", command[0], std::strerror(errno));
            _exit(127);
        }
    }

    // Runs until the first trap, which may only be int3 (SI_KERNEL); other signals are passed on.
    void run_to_trap() {
        int signal = 0;
        wait_for_stop(); // of exec; only now does the file below show the program's memory and not ours
        memory_ = open(("/proc/" + std::to_string(pid_) + "/mem").c_str(), O_RDONLY | O_CLOEXEC);
        if (memory_ < 0) fail("cannot read the memory of the program");
        for (;;) {
            ptrace(PTRACE_CONT, pid_, nullptr, signal);
            signal = wait_for_stop();
            siginfo_t info;
            if (signal == SIGTRAP && ptrace(PTRACE_GETSIGINFO, pid_, nullptr, &info) == 0 && info.si_code == SI_KERNEL)
                return;
            if (signal == SIGTRAP) signal = 0;
        }
    }

    void step() {
        ptrace(PTRACE_SINGLESTEP, pid_, nullptr, nullptr);
        if (const int signal = wait_for_stop(); signal != SIGTRAP)
            fail("the program was stopped by a signal between the traps");
    }

    void finish() {
        ptrace(PTRACE_CONT, pid_, nullptr, nullptr);
        int status;
        if (waitpid(pid_, &status, 0) < 0 || !(WIFEXITED(status) || WIFSTOPPED(status)))
            fail("the program did not end well");
        if (WIFSTOPPED(status)) kill(pid_, SIGKILL);
    }

    std::uint64_t instruction_pointer() const {
        errno = 0;
        const long value = ptrace(PTRACE_PEEKUSER, pid_, offsetof(user_regs_struct, rip), nullptr);
        if (errno != 0) fail("cannot read the registers of the program");
        return static_cast<std::uint64_t>(value);
    }

    instruction_class class_at(std::uint64_t address) const {
        std::uint8_t bytes[16] = {};
        if (pread(memory_, bytes, sizeof bytes, static_cast<off_t>(address)) <= 0) fail("cannot read an instruction");
        return classify(bytes, sizeof bytes);
    }

    pid_t pid() const { return pid_; }

private:
    static void keep_last(cpu_set_t &cpus) {
        for (int cpu = CPU_SETSIZE - 1; cpu >= 0; --cpu)
            if (CPU_ISSET(cpu, &cpus)) {
                CPU_ZERO(&cpus);
                CPU_SET(cpu, &cpus);
                sched_setaffinity(0, sizeof cpus, &cpus);
                return;
            }
    }

    int wait_for_stop() {
        int status;
        if (waitpid(pid_, &status, 0) < 0) fail("waitpid failed");
        if (!WIFSTOPPED(status))
            fail("the program ended before its second trap; was it given --iterations and --traps?");
        return WSTOPSIG(status);
    }

    pid_t pid_ = -1;
    int memory_ = -1;
};

// Where a file's bytes are mapped, to turn addresses into offsets that objdump knows.
struct mapping {
    std::uint64_t start, end, offset;
    std::string file;
};

std::vector<mapping> mappings_of(pid_t pid) {
    std::vector<mapping> result;
    std::FILE *maps = std::fopen(("/proc/" + std::to_string(pid) + "/maps").c_str(), "re");
    char line[4352];
    while (maps != nullptr && std::fgets(line, sizeof line, maps) != nullptr) {
        unsigned long start, end, offset;
        int name = 0;
        if (std::sscanf(line, "%lx-%lx %*s %lx %*s %*s %n", &start, &end, &offset, &name) < 3) continue;
        std::string file = line + name;
        while (!file.empty() && file.back() == '\n') file.pop_back();
        result.push_back({start, end, offset, file.empty() ? "anonymous" : file});
    }
    if (maps != nullptr) std::fclose(maps);
    return result;
}

void dump(const char *path, const std::vector<std::uint64_t> &addresses, pid_t pid) {
    const std::vector<mapping> mappings = mappings_of(pid);
    std::FILE *file = std::fopen(path, "we");
    if (file == nullptr) fail("cannot write the dump");
    for (const std::uint64_t address : addresses)
        for (const mapping &m : mappings)
            if (address >= m.start && address < m.end)
                std::fprintf(file, "%s %lx\n", m.file.c_str(),
                             static_cast<unsigned long>(address - m.start + m.offset));
    if (std::fclose(file) != 0) fail("cannot write the dump");
}

// From the first trap to the second. The address sequence is kept only if it is to be dumped.
counts follow(tracee &program, std::vector<std::uint64_t> *addresses) {
    counts result;
    std::unordered_map<std::uint64_t, instruction_class> known;
    std::uint64_t previous = 0;
    for (;;) {
        const std::uint64_t at = program.instruction_pointer();
        const auto [found, is_new] = known.try_emplace(at, instruction_class::plain);
        if (is_new) found->second = program.class_at(at);
        if (found->second == instruction_class::trap) return result;
        // A repeated string instruction stops after each repetition; it is counted once, as a processor's counter does.
        if (found->second != instruction_class::repeated || at != previous) {
            ++result.instructions;
            result.locked += found->second == instruction_class::locked;
            result.fences += found->second == instruction_class::fence;
            result.system_calls += found->second == instruction_class::system_call;
            if (addresses != nullptr) addresses->push_back(at);
        }
        previous = at;
        program.step();
    }
}

} // namespace

int main(int argc, char **argv) {
    const char *dump_path = nullptr;
    int at = 1;
    if (at + 1 < argc && std::strcmp(argv[at], "--dump") == 0) {
        dump_path = argv[at + 1];
        at += 2;
    }
    if (at >= argc || std::strcmp(argv[at], "--") != 0 || at + 1 >= argc)
        fail("usage: step [--dump FILE] -- BENCHMARK ARGS --iterations N --traps (STEP_PRELOAD=LIBRARY)");
    tracee program{argv + at + 1};
    program.run_to_trap();
    std::vector<std::uint64_t> addresses;
    const counts c = follow(program, dump_path == nullptr ? nullptr : &addresses);
    if (dump_path != nullptr) dump(dump_path, addresses, program.pid());
    program.finish();
    std::printf("instructions %llu locked %llu fences %llu system_calls %llu\n",
                static_cast<unsigned long long>(c.instructions), static_cast<unsigned long long>(c.locked),
                static_cast<unsigned long long>(c.fences), static_cast<unsigned long long>(c.system_calls));
    return 0;
}
#endif
