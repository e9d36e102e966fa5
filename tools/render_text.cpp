#include "tools/render_text.hpp"

#include "accounting/sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace allot {
namespace {

std::string rounded(std::uint64_t bytes) {
    char out[size_text_bytes];
    return format_bytes_rounded(bytes, out);
}

// A limit as it was given where that is short; a percentage of RAM, say, is not.
std::string limit(std::uint64_t bytes) {
    constexpr std::size_t column = 9;
    char out[size_text_bytes];
    return std::strlen(format_bytes_exact(bytes, out)) <= column - 1 ? out : rounded(bytes);
}

std::string ending(const run_figures &run) {
    if (run.signal == 0) return fmt::format("exited with status {}", run.status);
    const char *name = sigabbrev_np(run.signal);
    return fmt::format("was ended by signal {}{}", run.signal, name != nullptr ? fmt::format(" (SIG{})", name) : "");
}

// "/" and below it names, two spaces further in for each level. Bytes that would upset a terminal are shown as '?'.
std::string indented_name(const std::string &path) {
    const bool is_root = path == "/";
    const auto depth = is_root ? 0 : std::count(path.begin(), path.end(), '/');
    std::string name = is_root ? path : path.substr(path.rfind('/') + 1);
    for (char &c : name)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
    return std::string(2 + 2 * static_cast<std::size_t>(depth), ' ') + name;
}

std::string headline(const image_figures &image) {
    return fmt::format("{} ({}, {})", image.program, image.pid, word_of(image.state));
}

} // namespace

std::string render_text(const run_figures &run) {
    std::string out = fmt::format("allot: {} {}\n", fmt::join(run.command, " "), ending(run));
    if (run.images.empty())
        return out + "allot: no process was counted; allot doctor COMMAND says why a program cannot be\n";

    std::size_t width = 0;
    for (const image_figures &image : run.images) {
        width = std::max(width, headline(image).size());
        for (const tenant_figures &tenant : image.tenants) width = std::max(width, indented_name(tenant.path).size());
    }
    out += fmt::format("{:<{}} {:>9} {:>9} {:>9} {:>9}\n", "tenant", width, "current", "peak", "max", "refused");
    for (const image_figures &image : run.images) {
        if (!image.problem.empty()) {
            out += fmt::format("a process whose books could not be read: {}\n", image.problem);
            continue;
        }
        out += headline(image) + "\n";
        for (const tenant_figures &t : image.tenants)
            out += fmt::format("{:<{}} {:>9} {:>9} {:>9} {:>9}\n", indented_name(t.path), width, rounded(t.current),
                               rounded(t.peak), limit(t.max), t.events[allot_event_oom]);
        if (image.uncounted_peak != 0)
            out += fmt::format("  mapped and not counted: {}, at most {}\n", rounded(image.uncounted),
                               rounded(image.uncounted_peak));
    }
    return out;
}

} // namespace allot
