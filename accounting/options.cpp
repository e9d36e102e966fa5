#include "accounting/options.hpp"

#include "accounting/base/os.hpp"
#include "accounting/environment.hpp"
#include "accounting/sizes.hpp"
#include "accounting/text_line.hpp"

#include <atomic>
#include <cstdlib>
#include <unistd.h>

namespace allot {
namespace {

// One line for all problems of a process: a typo in a tree of a hundred programs must not bury what they print.
void report_problems(const option_problems &problems, const options &o) {
    char text[384];
    text_line l(text, sizeof text);
    l.add("allot: ").add(problems.first);
    if (problems.count > 1) l.add(" (and ").add_number(problems.count - 1).add(" more)");
    l.add(o.strict ? "; strict is set: aborting\n" : "; ignored\n");
    os_write_all(STDERR_FILENO, text, l.length());
    if (o.strict) abort();
}

void write_banner(const options &o) {
    char text[512];
    char size[size_text_bytes];
    text_line l(text, sizeof text);
    l.add("allot: pid ").add_number(os_pid()).add(" (").add(o.program);
    l.add(") in tenant ").add(o.tenant);
    if (o.excluded) {
        l.add(": excluded, nothing is counted or limited\n");
        return os_write_all(STDERR_FILENO, text, l.length());
    }
    l.add(": max ").add(format_bytes_exact(o.memory_max.bytes, size));
    l.add(", high ").add(format_bytes_exact(o.memory_high.bytes, size));
    l.add(", low ").add(format_bytes_exact(o.memory_low.bytes, size));
    l.add(", min ").add(format_bytes_exact(o.memory_min.bytes, size));
    l.add(o.account == account_scope::all ? ", malloc and mappings are charged" : ", malloc alone is charged");
    l.add(o.oom == oom_policy::fail ? ", a refusal fails\n" : ", a refusal aborts\n");
    os_write_all(STDERR_FILENO, text, l.length());
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
    text_line l(out, size);
    for (; *pattern != '\0'; ++pattern) {
        const bool is_id = pattern[0] == '%' && pattern[1] == 'p';
        const bool is_percent = pattern[0] == '%' && pattern[1] == '%';
        if (is_id)
            l.add_number(os_pid());
        else
            l.add(pattern, 1);
        if (is_id || is_percent) ++pattern;
    }
}

} // namespace allot
