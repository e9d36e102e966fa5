#include "tools/render_text.hpp"

#include "tools/report_rows.hpp"

#include <algorithm>
#include <cstring>

namespace allot {

std::string render_text(const run_figures &run) {
    string_sink out;
    text_report report(out);
    for (const std::string &word : run.command) report.command(word.c_str());
    report.ending({run.status, run.signal, run.signal == 0 ? nullptr : sigabbrev_np(run.signal)});
    if (run.processes.empty()) {
        report.nothing_counted();
    } else {
        const std::size_t shown = std::min(run.processes.size(), processes_shown);
        for (const tenant_figures &tenant : run.tenants) report.measure(tenant.path.c_str());
        for (std::size_t i = 0; i < shown; ++i) report.measure(row_of(run.processes[i]));
        report.headings();
        for (const tenant_figures &tenant : run.tenants) report.tenant(row_of(tenant));
        report.processes();
        for (std::size_t i = 0; i < shown; ++i) report.process(row_of(run.processes[i]));
        report.and_more(run.processes.size() - shown);
    }
    report.end();
    return out.text();
}

} // namespace allot
