#include "alloc/accounted_hooks.hpp"

#include "accounting/allocator_source.hpp"
#include "accounting/base/os.hpp"
#include "accounting/base/report.hpp"
#include "accounting/obj_cgroup.hpp"
#include "accounting/options.hpp"
#include "accounting/reclaim.hpp"
#include "accounting/tenant.hpp"
#include "accounting/text.hpp"
#include "alloc/memory_figures.hpp"
#include "alloc/thread_moves.hpp"
#include "alloc/trace.hpp"

#include <limits>

namespace allot {

constinit context accounted_hooks::uncounted_context{
    .net = 0,
    .hi = std::numeric_limits<net_word>::max(),
    .lo = std::numeric_limits<net_word>::min(),
    .obj_cgroup = 0,
    .index = 0,
    .lock = 0,
    .flags = 0,
    .stock = 0,
    .swing = 0,
    .returned = 0,
};

constinit bool accounted_hooks::counting = false;
constinit bool accounted_hooks::keeps_each_request = false;

void accounted_hooks::owner_path(std::uint32_t obj_cgroup, char *path, std::size_t bytes) {
    *path = '\0';
    if (counting && obj_cgroup != 0) write_path(*tenant_named_by(obj_cgroup), path, bytes);
}

namespace {

allocator_figures figures() {
    memory_figures own = memory_figures_get();
    return {own.cache, own.overhead, own.resident};
}
constexpr allocator_source this_allocator{figures, requested_samples, threads_list, thread_move};

// Where a relative name starts from: of the process's beginning, for the child of a fork that has gone elsewhere.
constinit char trace_folder[4096] = {};

void trace_name(const char *pattern, char *out, std::size_t size) {
    char expanded[line_writer::capacity];
    expand_file_name(pattern, expanded, sizeof expanded);
    copy_text(expanded[0] == '/' ? "" : trace_folder, out, size);
    std::size_t length = text_length(out);
    copy_text(expanded, out + length, size - length);
}

void start_trace(const options &o) {
    if (o.trace[0] == '\0') return;
    os_working_folder(trace_folder, sizeof trace_folder);
    char name[sizeof trace_folder + line_writer::capacity];
    trace_name(o.trace, name, sizeof name);
    trace_start(name, o.program);
}

bool names_the_process(const char *pattern) {
    for (; *pattern != '\0'; ++pattern) {
        if (pattern[0] != '%') continue;
        if (pattern[1] == 'p') return true;
        if (pattern[1] == '%') ++pattern;
    }
    return false;
}

void start_trace_of_child() {
    const char *pattern = options_get().trace;
    if (!names_the_process(pattern)) return trace_child_start(nullptr);
    char name[sizeof trace_folder + line_writer::capacity];
    trace_name(pattern, name, sizeof name);
    trace_child_start(name);
}

} // namespace

void accounted_hooks::child_start() {
    accounting_child_start();
    if (trace_is_on()) start_trace_of_child();
}

bool accounted_hooks::start(recount_source source) {
    verify_set_source(source);
    accounting_set_repair(heap_start);
    accounting_set_allocator(&this_allocator);
    reclaim_set_purge([] { (void)heap_trim(0); });
    counting = accounting_start();
    heap_set_purge(options_get().purge_delay_ms, options_get().retain.bytes);
    keeps_each_request = counting && options_get().requested == request_count::exact;
    if (counting) start_trace(options_get());
    return counting;
}

} // namespace allot
