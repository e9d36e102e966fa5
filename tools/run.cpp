#include "tools/run.hpp"

#include "accounting/options.hpp"
#include "accounting/tables.hpp"
#include "tools/child_tree.hpp"
#include "tools/errors.hpp"
#include "tools/hierarchy.hpp"
#include "tools/hierarchy_folder.hpp"
#include "tools/hierarchy_view.hpp"
#include "tools/preload_library.hpp"
#include "tools/program.hpp"
#include "tools/render_json.hpp"
#include "tools/render_text.hpp"
#include "tools/run_tenants.hpp"
#include "tools/trace_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>
#include <utility>

namespace allot {
namespace {

// The kernel's bound on one string of the environment, its terminator included (MAX_ARG_STRLEN).
constexpr std::size_t longest_entry = std::size_t{128} << 10;

// Where the report goes; opened before the command runs, so that a wrong name is told before an hour of work.
class report_sink {
public:
    explicit report_sink(const std::string &target) {
        if (target.empty() || target == "off") return;
        if (target == "stderr") {
            fd_ = STDERR_FILENO;
            return;
        }
        char name[4096];
        expand_file_name(target.c_str(), name, sizeof name);
        fd_ = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (fd_ < 0) throw failure(fmt::format("--report: {}: cannot be written: {}", name, strerror(errno)));
    }
    ~report_sink() {
        if (fd_ > STDERR_FILENO) close(fd_);
    }
    report_sink(const report_sink &) = delete;
    report_sink &operator=(const report_sink &) = delete;

    bool wanted() const { return fd_ >= 0; }
    void write_all(const std::string &text) const {
        for (std::size_t done = 0; done < text.size();) {
            const ssize_t n = write(fd_, text.data() + done, text.size() - done);
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) return; // a report has nobody to fail to: the command's status stands
            done += static_cast<std::size_t>(n);
        }
    }

private:
    int fd_ = -1;
};

// A trace of an earlier run gives way to a new, empty file; processes that still write to it keep it. Anything else than a trace is left
// alone.
void prepare_trace(const std::string &name) {
    if (name.empty() || name.find("%p") != std::string::npos) return;
    if (std::filesystem::exists(name) &&
        (!std::filesystem::is_regular_file(name) || std::filesystem::file_size(name) != 0)) {
        try {
            const trace_blocks earlier(name);
        } catch (const failure &problem) {
            throw failure(fmt::format("--trace: {}; it is not written over", problem.what()));
        }
    }
    unlink(name.c_str());
    const int fd = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) throw failure(fmt::format("--trace: {}: cannot be written: {}", name, strerror(errno)));
    close(fd);
}

bool asks_for_a_limit(const run_settings &s) {
    return std::any_of(s.variables.begin(), s.variables.end(), [](const auto &v) {
        return v.first == option_table[allot_option_memory_max].variable ||
               v.first == option_table[allot_option_tree].variable;
    });
}

// One line where limits that were asked for cannot hold. The command is run all the same: what it starts may be limited.
void warn_where_nothing_holds(const run_settings &s) {
    if (!asks_for_a_limit(s)) return;
    const program_verdict verdict = judge_program(s.command);
    if (verdict.is_found == found::yes && !verdict.obstacles.empty())
        fmt::print(stderr, "allot: warning: {} runs without limits: {}\n", s.command.front(),
                   verdict.obstacles.front());
}

} // namespace

std::vector<std::string> environment_for(const run_settings &s, const std::string &library, const std::string &dir,
                                         const std::string &hierarchy, char *const *inherited) {
    std::vector<std::pair<std::string, std::string>> changes = s.variables;
    changes.emplace_back(option_table[allot_option_dir].variable, dir);
    changes.emplace_back(option_table[allot_option_hierarchy].variable, hierarchy);
    // The command reports for all processes of the tree: none of them shall do so as well.
    changes.emplace_back(option_table[allot_option_report].variable, "off");
    std::string preloaded;
    std::vector<std::string> environment;
    for (char *const *entry = inherited; *entry != nullptr; ++entry) {
        const std::string text = *entry;
        const std::string name = text.substr(0, text.find('='));
        const auto changed = [&name](const auto &change) { return change.first == name; };
        if (name == "LD_PRELOAD")
            preloaded = text.substr(std::min(text.size(), name.size() + 1));
        else if (std::none_of(changes.begin(), changes.end(), changed))
            environment.push_back(text);
    }
    changes.emplace_back("LD_PRELOAD", preload_first(library, preloaded));
    for (const auto &[name, value] : changes) {
        environment.push_back(name + "=" + value);
        if (environment.back().size() >= longest_entry)
            throw failure(fmt::format("{} would be {} bytes long; the kernel takes {}", name, environment.back().size(),
                                      longest_entry - 1));
    }
    return environment;
}

int run_command(std::vector<std::string> arguments) {
    run_settings settings;
    if (!read_run_arguments(arguments, settings)) return exit_done;
    const std::string library = find_preload_library();
    const report_sink sink(settings.report);
    prepare_trace(settings.trace);
    const hierarchy_folder folder(chosen_dir(settings.dir), settings.hierarchy);
    const hierarchy_choice hierarchy{folder.name(), folder.dir()};
    const std::vector<std::string> environment =
        environment_for(settings, library, folder.dir(), folder.name(), environ);
    std::uint64_t first_born = 0;
    {
        const attachment file(hierarchy, shared::if_missing::make);
        make_tenants_of(environment);
        first_born = shared::head().births.load(std::memory_order_relaxed);
    }
    warn_where_nothing_holds(settings);

    const tree_outcome outcome = run_tree(settings.command, environment);
    if (!outcome.problem.empty()) {
        fmt::print(stderr, "allot: {}\n", outcome.problem);
        return outcome.status;
    }
    if (sink.wanted()) {
        // As the last processes left it: what they held when they ended is shown.
        hierarchy_view view = view_as_it_is(hierarchy);
        std::erase_if(view.processes, [&](const process_entry &p) { return p.born <= first_born; });
        const run_figures figures{settings.command, outcome.status, outcome.signal, std::move(view.tenants),
                                  std::move(view.processes)};
        sink.write_all(settings.json ? render_json(figures) : render_text(figures));
    }
    if (!settings.hierarchy.empty()) reap_apart(hierarchy);
    return outcome.status;
}

} // namespace allot
