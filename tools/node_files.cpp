#include "tools/node_files.hpp"

#include "accounting/base/os.hpp"
#include "accounting/shared/file.hpp"
#include "accounting/shared/ledger.hpp"
#include "accounting/shared/members.hpp"
#include "accounting/shared/nodes.hpp"
#include "accounting/shared/remote.hpp"
#include "accounting/sizes.hpp"
#include "accounting/tables.hpp"
#include "accounting/tenant.hpp"
#include "tools/errors.hpp"
#include "tools/reclaim_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <limits>
#include <optional>
#include <sys/syscall.h>
#include <unistd.h>

namespace allot {

namespace {

using shared::node;

// --- reading ----------------------------------------------------------------------------------------------------------------

std::string number_line(std::uint64_t value) { return fmt::format("{}\n", value); }
std::string limit_line(std::uint64_t value) { return value >= unlimited ? "max\n" : number_line(value); }

template<class Values>
std::string event_lines(const Values &values) {
    std::string text;
    for (std::uint32_t e = 0; e < allot_nr_events; ++e) text += fmt::format("{} {}\n", event_table[e].name, values[e]);
    return text;
}

std::string stat_lines(const tenant_figures &t) {
    std::string text;
    for (std::uint32_t s = 0; s < allot_nr_stats; ++s) text += fmt::format("{} {}\n", stat_table[s].name, t.stats[s]);
    return text;
}

// On which node an object's memory lies is the system's affair: all is shown on node 0.
std::string numa_lines(const tenant_figures &t) {
    std::string text;
    for (const allot_stat s : {allot_stat_slab, allot_stat_large, allot_stat_external})
        text += fmt::format("{} N0={}\n", stat_table[s].name, t.stats[s]);
    return text;
}

std::string process_lines(const hierarchy_view &view, const tenant_figures &t) {
    std::string text;
    for (const process_entry &p : view.processes)
        if (p.lives() && p.tenant == t.path) text += number_line(p.pid);
    return text;
}

constexpr const char *policy_words[] = {"inherit", "fail", "kill", "abort"};
constexpr const char *throttle_words[] = {"inherit", "0", "1"};

template<std::size_t N>
std::string word_line(const char *const (&words)[N], std::uint8_t number) {
    return fmt::format("{}\n", number < N ? words[number] : "unknown");
}

using reader = std::string (*)(const hierarchy_view &, const tenant_figures &);

// --- writing ----------------------------------------------------------------------------------------------------------------

std::string trimmed(const std::string &value) {
    const auto first = value.find_first_not_of(" \t\n");
    return first == std::string::npos ? "" : value.substr(first, value.find_last_not_of(" \t\n") - first + 1);
}

// Percentages are of the parent's max, or of RAM where there is none.
std::uint64_t percent_base(std::uint32_t index) {
    const std::uint32_t parent = index == 0 ? 0 : shared::node_at(index).parent;
    const std::uint64_t max = parent == 0 ? unlimited : shared::node_at(parent).set.max.load(std::memory_order_relaxed);
    return max >= unlimited ? os_ram_bytes() : max;
}

[[noreturn]] void refuse(const file_write &w, const std::string &why) {
    throw usage_error(fmt::format("{}: '{}': {}", w.file, w.value, why));
}

std::uint64_t size_in(const file_write &w, std::uint32_t index) {
    const size_result size = size_parse(w.value.c_str(), w.value.size(), percent_base(index));
    if (size.error != size_error::none)
        refuse(w, fmt::format("{}; expected {}", size_error_hint(size.error), size_expected));
    return size.bytes;
}

template<std::size_t N>
std::uint8_t word_in(const file_write &w, const char *const (&words)[N]) {
    for (std::uint8_t i = 0; i < N; ++i)
        if (trimmed(w.value) == words[i]) return i;
    refuse(w, fmt::format("expected {}", fmt::join(words, " or ")));
}

std::uint32_t descendants_in(const file_write &w) {
    const std::string text = trimmed(w.value);
    if (text == "max") return no_descendants_max;
    const bool is_number =
        !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == std::string::npos;
    if (!is_number) refuse(w, "expected a number below 1000000000, or max");
    return static_cast<std::uint32_t>(std::stoul(text));
}

constexpr const char *zero_or_one[] = {"0", "1"};
constexpr const char *just_one[] = {"1"};

// After a limit was lowered: what processes hold ahead goes, and if that is not enough they are asked for memory.
void make_fit(std::uint32_t index, std::uint64_t limit) {
    const auto usage = [&] { return shared::node_at(index).usage.value.load(std::memory_order_relaxed); };
    if (usage() <= limit) return;
    (void)shared::drain_others(index);
    constexpr std::uint64_t patience_ns = 1000000000;
    if (usage() > limit) (void)reclaim_below(index, usage() - limit, patience_ns);
}

void write_max(std::uint32_t index, const file_write &w) {
    const std::uint64_t max = size_in(w, index);
    const std::uint64_t before = shared::node_at(index).set.max.exchange(max, std::memory_order_seq_cst);
    shared::ledger_flush(); // what was decided by the old one has arrived
    if (max >= before) return;
    (void)shared::drain_others(index); // stocks could be used in spite of the new limit otherwise
    make_fit(index, max);
}

void write_high(std::uint32_t index, const file_write &w) {
    const std::uint64_t high = size_in(w, index);
    shared::node_at(index).set.high.store(high, std::memory_order_seq_cst);
    make_fit(index, high);
}

// A descriptor of the process, so that the signal cannot reach who has got its id since.
void kill_member(std::uint32_t member) {
    const auto pid = static_cast<pid_t>(shared::pid_in(shared::member_at(member).identity.load()));
    const long fd = syscall(SYS_pidfd_open, pid, 0);
    if (fd >= 0 && shared::member_is_alive(member)) (void)syscall(SYS_pidfd_send_signal, fd, SIGKILL, nullptr, 0);
    if (fd < 0 && errno == ENOSYS && shared::member_is_alive(member)) (void)kill(pid, SIGKILL);
    if (fd >= 0) close(static_cast<int>(fd));
}

void write_kill(std::uint32_t index, const file_write &w) {
    (void)word_in(w, just_one);
    // Again and again, since one may fork while others are killed.
    for (bool found = true; found;) {
        found = false;
        for (std::uint32_t m = shared::next_member(1); m != 0; m = shared::next_member(m + 1)) {
            if (!shared::is_node_below(shared::member_at(m).node.load(std::memory_order_relaxed), index)) continue;
            if (shared::pid_in(shared::member_at(m).identity.load()) == os_pid()) continue;
            kill_member(m);
            found = true;
        }
        constexpr std::uint64_t moment_ns = 2 * shared::alive_ns;
        if (found) os_sleep(moment_ns);
    }
}

void write_peak(std::uint32_t index, const file_write &) {
    node &n = shared::node_at(index);
    n.peak.store(n.usage.value.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

void write_reclaim(std::uint32_t index, const file_write &w) {
    const std::uint64_t wanted = size_in(w, index);
    constexpr std::uint64_t patience_ns = std::numeric_limits<std::uint64_t>::max();
    const reclaim_outcome outcome = reclaim_below(index, wanted, patience_ns);
    if (outcome.got >= wanted) return;
    throw failure(fmt::format("{}: {} bytes were given back, {} were asked for", w.file, outcome.got, wanted));
}

using writer = void (*)(std::uint32_t, const file_write &);
using checker = void (*)(const file_write &);

void check_size_of(const file_write &w) {
    // Any base will do to see whether a percentage is well formed.
    const size_error error = size_parse(w.value.c_str(), w.value.size(), page_bytes).error;
    if (error != size_error::none) refuse(w, fmt::format("{}; expected {}", size_error_hint(error), size_expected));
}

struct node_file {
    const char *name;
    reader read;
    writer write;
    checker check; // of what is written, whatever the tenant
};

#define VALUE_OF(expression) [](const hierarchy_view &, const tenant_figures &t) { return expression; }
constexpr node_file files[] = {
    {"memory.current", VALUE_OF(number_line(t.current)), nullptr, nullptr},
    {"memory.peak", VALUE_OF(number_line(t.peak)), write_peak, [](const file_write &) {}},
    {"memory.min", VALUE_OF(limit_line(t.min)),
     [](std::uint32_t n, const file_write &w) { shared::node_at(n).set.min.store(size_in(w, n)); }, check_size_of},
    {"memory.low", VALUE_OF(limit_line(t.low)),
     [](std::uint32_t n, const file_write &w) { shared::node_at(n).set.low.store(size_in(w, n)); }, check_size_of},
    {"memory.high", VALUE_OF(limit_line(t.high)), write_high, check_size_of},
    {"memory.max", VALUE_OF(limit_line(t.max)), write_max, check_size_of},
    {"memory.headroom", VALUE_OF(limit_line(t.headroom)),
     [](std::uint32_t n, const file_write &w) { shared::node_at(n).headroom.store(size_in(w, n)); }, check_size_of},
    {"memory.events", VALUE_OF(event_lines(t.events)), nullptr, nullptr},
    {"memory.events.local", VALUE_OF(event_lines(t.events_local)), nullptr, nullptr},
    {"memory.stat", VALUE_OF(stat_lines(t)), nullptr, nullptr},
    {"memory.numa_stat", VALUE_OF(numa_lines(t)), nullptr, nullptr},
    {"memory.reclaim", nullptr, write_reclaim, check_size_of},
    {"memory.throttle", VALUE_OF(word_line(throttle_words, t.throttle)),
     [](std::uint32_t n, const file_write &w) { shared::node_at(n).throttle.store(word_in(w, throttle_words)); },
     [](const file_write &w) { (void)word_in(w, throttle_words); }},
    {"memory.oom.group", VALUE_OF(number_line(t.kills_group)),
     [](std::uint32_t n, const file_write &w) { shared::node_at(n).kills_group.store(word_in(w, zero_or_one)); },
     [](const file_write &w) { (void)word_in(w, zero_or_one); }},
    {"memory.oom.policy", VALUE_OF(word_line(policy_words, t.on_refusal)),
     [](std::uint32_t n, const file_write &w) {
         shared::node_at(n).on_refusal.store(refusal_policy{word_in(w, policy_words)});
     },
     [](const file_write &w) { (void)word_in(w, policy_words); }},
    {"cgroup.procs", process_lines, nullptr, nullptr},
    {"cgroup.events", VALUE_OF(fmt::format("populated {}\nfrozen 0\n", t.nr_processes + t.nr_threads != 0 ? 1 : 0)),
     nullptr, nullptr},
    {"cgroup.max.descendants",
     VALUE_OF(t.descendants_max == no_descendants_max ? std::string("max\n") : number_line(t.descendants_max)),
     [](std::uint32_t n, const file_write &w) { shared::node_at(n).descendants_max.store(descendants_in(w)); },
     [](const file_write &w) { (void)descendants_in(w); }},
    {"cgroup.stat", VALUE_OF(fmt::format("nr_descendants {}\nnr_dying_descendants 0\n", t.nr_descendants)), nullptr,
     nullptr},
    {"cgroup.kill", nullptr, write_kill, [](const file_write &w) { (void)word_in(w, just_one); }},
    // Of a process alone.
    {"memory.pressure", nullptr, nullptr, nullptr},
    {"memory.fail", nullptr, nullptr, nullptr},
    {"cgroup.threads", nullptr, nullptr, nullptr},
};
#undef VALUE_OF

const node_file *find_file(const std::string &name) {
    const auto *found = std::find_if(std::begin(files), std::end(files), [&](const auto &f) { return name == f.name; });
    return found == std::end(files) ? nullptr : found;
}

template<class Has>
std::string names_of_files(Has has) {
    std::vector<std::string> names;
    for (const node_file &f : files)
        if (has(f)) names.emplace_back(f.name);
    return fmt::format("{}", fmt::join(names, ", "));
}

} // namespace

std::string file_text_of(const hierarchy_view &view, const tenant_figures &t, const std::string &name) {
    const node_file *file = find_file(name);
    const auto readable = [](const node_file &f) { return f.read != nullptr; };
    if (file == nullptr)
        throw failure(fmt::format("{}: there is no such file; expected one of: {}", name, names_of_files(readable)));
    if (file->read != nullptr) return file->read(view, t);
    if (file->write != nullptr) throw failure(fmt::format("{}: can only be written", name));
    throw failure(fmt::format("{}: only its processes know", name));
}

file_write read_file_write(const std::string &argument) {
    const std::size_t equals = argument.find('=');
    if (equals == std::string::npos || equals == 0)
        throw usage_error(fmt::format("{}: expected FILE=VALUE, such as memory.max=64M", argument));
    return {argument.substr(0, equals), argument.substr(equals + 1)};
}

void check_file_write(const file_write &w) {
    const node_file *file = find_file(w.file);
    const auto writable = [](const node_file &f) { return f.write != nullptr; };
    if (file == nullptr)
        throw usage_error(
            fmt::format("{}: there is no such file; expected one of: {}", w.file, names_of_files(writable)));
    if (file->write == nullptr)
        throw usage_error(fmt::format("{}: cannot be written {}; expected one of: {}", w.file,
                                      file->read == nullptr ? "from outside its processes" : "to",
                                      names_of_files(writable)));
    file->check(w);
}

void write_file(std::uint32_t index, const file_write &w) {
    check_file_write(w);
    find_file(w.file)->write(index, w);
}

} // namespace allot
