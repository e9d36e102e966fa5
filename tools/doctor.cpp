#include "tools/doctor.hpp"

#include "accounting/base/os.hpp"
#include "tools/command_line.hpp"
#include "tools/elf_file.hpp"
#include "tools/hierarchy_folder.hpp"
#include "tools/preload_library.hpp"

#include <fmt/format.h>

#include <iostream>

namespace allot {
namespace {

// One thing this machine has or lacks.
struct finding {
    std::string what;
    std::string problem; // empty: it is as it should be
};

finding library_finding() {
    try {
        const std::string library = find_preload_library();
        const auto facts = read_elf(library);
        if (!facts || !facts->same_kind) return {library, "it is not a library for this machine"};
        return {fmt::format("preload library {}", library), ""};
    } catch (const failure &error) {
        return {"preload library", error.what()};
    }
}

finding folder_finding() {
    const std::string dir = default_dir();
    try {
        prepare_dir(dir);
        return {fmt::format("folder of the books {}", dir), ""};
    } catch (const failure &error) {
        return {"folder of the books", error.what()};
    }
}

int judge_machine() {
    bool all_is_well = true;
    for (const finding &f : {library_finding(), folder_finding()}) {
        fmt::print("{}: {}\n", f.what, f.problem.empty() ? "ok" : f.problem);
        all_is_well = all_is_well && f.problem.empty();
    }
    // Not an obstacle: without it threads keep no stock, every operation takes the slow path, and counts are as exact.
    const bool fences = os_membarrier_start() == membarrier_mode::private_expedited;
    fmt::print("membarrier: {}\n", fences ? "ok" : "refused by this system: allot works, and is slower");
    fmt::print("{}\n", all_is_well ? "Programs can be limited here." : "Programs cannot be limited here.");
    return all_is_well ? exit_done : exit_no;
}

} // namespace

std::string verdict_text(const std::string &command, const program_verdict &verdict) {
    if (verdict.is_found == found::no) return fmt::format("{} cannot be limited: it is not found\n", command);
    if (verdict.is_found == found::not_executable)
        return fmt::format("{} cannot be limited: it is not an executable file\n", command);
    std::string out = fmt::format("{} {} be limited", command, verdict.obstacles.empty() ? "can" : "cannot");
    out += verdict.obstacles.empty() ? "\n" : fmt::format(": {}\n", verdict.obstacles.front());
    for (std::size_t i = 1; i < verdict.obstacles.size(); ++i) out += fmt::format("  and {}\n", verdict.obstacles[i]);
    for (std::size_t i = 0; i < verdict.chain.size(); ++i)
        out += fmt::format("  {} {}\n", i == 0 ? "file" : "run by", verdict.chain[i]);
    for (const std::string &note : verdict.notes) out += fmt::format("  note: {}\n", note);
    return out;
}

int doctor_command(std::vector<std::string> arguments) {
    CLI::App app(
        "Says whether COMMAND can be limited, and if not, why. Without COMMAND: whether this machine can limit "
        "programs. Exit status 0: yes, 1: no.",
        "allot doctor");
    set_synopsis(app, doctor_synopsis);
    std::vector<std::string> command;
    app.add_option("COMMAND", command, "The program, with or without arguments, as `allot run` would be given it");
    app.prefix_command();
    if (!arguments.empty() && arguments.front() == "--") {
        command.assign(arguments.begin() + 1, arguments.end());
    } else {
        if (parse_arguments(app, arguments)) return exit_done;
        if (command.empty()) refuse_remaining(app);
    }
    if (command.empty()) return judge_machine();
    const program_verdict verdict = judge_program(command);
    std::cout << verdict_text(command.front(), verdict);
    return verdict.is_found == found::yes && verdict.obstacles.empty() ? exit_done : exit_no;
}

} // namespace allot
