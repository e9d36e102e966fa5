// The settings of this process, read once from the environment.
//
// They exist so that a preloaded program can be limited without the command: ALLOT_MEMORY_MAX=512M, or all in one as
// ALLOT_CONF="memory.max:512M,oom:abort"; a single variable wins over the same key in ALLOT_CONF. The names are those of
// <allot/options.def>.
//
// Threads: options_get() from any thread, also before constructors ran; the first caller parses, others wait for it.
// Owner: the texts are copies that live until the process ends: the environment may be overwritten by setproctitle.
// Invariants: 1. Every text field is a valid C string, never nullptr, unless its comment says otherwise.
//             2. A value that is not understood leaves the default in place and is reported, once, on stderr; with
//                `strict` the program is aborted.
//             3. Nothing is read in a program that runs with more rights than its user (AT_SECURE).
// Cost: after the first call one load; parsing walks the environment, a few microseconds.
#pragma once

#include "accounting/base/units.hpp"

#include <cstddef>
#include <cstdint>

namespace allot {

enum class oom_policy : std::uint32_t { fail, kill, abort };
enum class account_scope : std::uint32_t { all, heap };
enum class report_target : std::uint32_t { off, standard_error, file };
enum class request_count : std::uint32_t { sampled, exact };
enum class map_kind : std::uint32_t { thread, exe, lib };

// A size as given. A percentage has been taken of RAM; who knows the parent's max parses `text` again with that base.
struct size_option {
    const char *text = nullptr; // nullptr: not given, bytes is the default
    std::uint64_t bytes = 0;
};

// --map KIND:GLOB=PATH
struct map_rule {
    map_kind kind;
    const char *glob;
    const char *path;
};

// One line of a tree: the tenant at `path` shall exist, and its file shall have that value.
struct tree_setting {
    const char *path;
    const char *file;  // "memory.max"; empty: the tenant is only created
    const char *value; // for that file as a write to it would be, e.g. "64M" or "50%"
};

// The defaults are those of <allot/options.def>; a test holds the two together.
struct options {
    const char *tenant = "/";
    size_option memory_max{nullptr, unlimited};
    size_option memory_high{nullptr, unlimited};
    size_option memory_low{};
    size_option memory_min{};
    size_option memory_headroom{};
    size_option retain{};
    std::uint64_t purge_delay_ms = 1000; // unlimited: for ever
    oom_policy oom = oom_policy::fail;
    account_scope account = account_scope::all;
    request_count requested = request_count::sampled;
    const map_rule *map = nullptr;
    std::uint32_t nr_map = 0;
    const tree_setting *tree = nullptr; // in the order of the text; missing parents are the reader's to create
    std::uint32_t nr_tree = 0;
    const char *const *exclude = nullptr;
    std::uint32_t nr_exclude = 0;
    const char *hierarchy = ""; // empty: private memory
    const char *dir = "";       // empty: not given
    report_target report = report_target::off;
    const char *report_file = ""; // with %p as given; see expand_file_name()
    const char *preload_library = "";
    const char *fail_after = "";      // as memory.fail has it: "N" or "N+"; empty: not given
    const char *fail_after_path = ""; // whose; empty: this process's tenant
    const char *trace = "";           // with %p as given; empty: nothing is recorded
    bool oom_group = false;
    bool throttle = false;
    bool json = false;
    bool verbose = false;
    bool strict = false;
    // Not settings, but what they are matched with and lead to.
    const char *program = "";    // file name of what was executed; of a script, its own
    const char *executable = ""; // file name of the binary that runs, for a script its interpreter
    bool excluded = false;       // one of the two is in `exclude`: nothing is to be counted or limited here
    bool secure = false;         // AT_SECURE: the environment was not read
};

// Calls set(file, value) for each file of the process's own tenant that the settings are about.
template<class Set>
void for_own_files(const options &o, Set set) {
    const struct {
        const char *file;
        const size_option &size;
    } sizes[] = {{"memory.max", o.memory_max},
                 {"memory.high", o.memory_high},
                 {"memory.low", o.memory_low},
                 {"memory.min", o.memory_min},
                 {"memory.headroom", o.memory_headroom}};
    for (const auto &s : sizes)
        if (s.size.text != nullptr) set(s.file, s.size.text);
    if (o.oom == oom_policy::kill) set("memory.oom.policy", "kill");
    if (o.oom == oom_policy::abort) set("memory.oom.policy", "abort");
    if (o.oom_group) set("memory.oom.group", "1");
    if (o.throttle) set("memory.throttle", "1");
}

[[nodiscard]] const options &options_get();

// By a constructor that is handed the environment before libc knows it (its third argument); before options_get().
void options_set_environment(char **environment);

// What could not be understood. `first` is a whole sentence without the "allot: " before and the newline after it.
struct option_problems {
    std::uint32_t count;
    char first[384];
};

// The parser behind options_get(), for tests and for the command: fills `out` from "NAME=value" entries up to nullptr.
void options_parse(options &out, char *const *environment, option_problems &problems);

// The pattern of a file name with %p as this process's id and %% as %. Truncated to size; always terminated.
void expand_file_name(const char *pattern, char *out, std::size_t size);

// True: `path` is "/" or a chain of names "/a/b", each 1 to 63 bytes, none "." or "..", no newline.
[[nodiscard]] bool is_tenant_path(const char *path);

} // namespace allot
