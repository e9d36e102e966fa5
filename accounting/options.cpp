#include "accounting/options.hpp"

#include "accounting/base/os.hpp"
#include "accounting/base/report.hpp"
#include "accounting/environment.hpp"
#include "accounting/sizes.hpp"
#include "accounting/text.hpp"

#include <atomic>
#include <cstdlib>

namespace allot {
namespace {

// One line for all problems of a process: a typo in a tree of a hundred programs must not bury what they print.
void report_problems(const option_problems &problems, const options &o) {
    line_writer line;
    line.text("allot: ").text(problems.first);
    if (problems.count > 1) line.text(" (and ").number(problems.count - 1).text(" more)");
    line.text(o.strict ? "; strict is set: aborting" : "; ignored").write();
    if (o.strict) abort();
}

void write_banner(const options &o) {
    char size[size_text_bytes];
    line_writer line;
    line.text("allot: pid ").number(os_pid()).text(" (").text(o.program).text(") in tenant ").text(o.tenant);
    if (o.excluded) return line.text(": excluded, nothing is counted or limited").write();
    line.text(": max ").text(format_bytes_exact(o.memory_max.bytes, size));
    line.text(", high ").text(format_bytes_exact(o.memory_high.bytes, size));
    line.text(", low ").text(format_bytes_exact(o.memory_low.bytes, size));
    line.text(", min ").text(format_bytes_exact(o.memory_min.bytes, size));
    line.text(o.account == account_scope::all ? ", malloc and mappings are charged" : ", malloc alone is charged");
    constexpr const char *refusals[] = {", a refusal fails", ", a refusal kills", ", a refusal aborts"};
    line.text(refusals[static_cast<std::uint32_t>(o.oom)]).write();
}

// Written by the thread that parses (busy, then done), read by every caller. acquire/release: who sees done sees what
// was parsed before it.
enum : std::uint32_t { state_none, state_busy, state_done };
std::atomic<std::uint32_t> state{state_none};
constinit options current{};
char **given_environment = nullptr; // written by the constructor before the first options_get()

void parse_once() {
    option_problems problems{};
    {
        const process_environment environment(given_environment);
        current.secure = process_is_secure();
        if (!current.secure) options_parse(current, environment.entries(), problems);
    }
    if (problems.count != 0) report_problems(problems, current);
    if (current.verbose) write_banner(current);
}

[[gnu::noinline]] void get_slow() {
    std::uint32_t expected = state_none;
    if (state.compare_exchange_strong(expected, state_busy, std::memory_order_acquire)) {
        parse_once();
        state.store(state_done, std::memory_order_release);
        return;
    }
    while (state.load(std::memory_order_acquire) != state_done) os_yield();
}

} // namespace

const options &options_get() {
    if (state.load(std::memory_order_acquire) != state_done) get_slow();
    return current;
}

void options_set_environment(char **environment) { given_environment = environment; }

void expand_file_name(const char *pattern, char *out, std::size_t size) {
    line_writer line;
    for (; *pattern != '\0'; ++pattern) {
        const bool is_id = pattern[0] == '%' && pattern[1] == 'p';
        const bool is_percent = pattern[0] == '%' && pattern[1] == '%';
        if (is_id)
            line.number(os_pid());
        else
            line.text(pattern, 1);
        if (is_id || is_percent) ++pattern;
    }
    copy_text(line.c_str(), out, size);
}

} // namespace allot
