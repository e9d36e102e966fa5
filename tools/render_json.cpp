#include "tools/render_json.hpp"

#include "tools/report_rows.hpp"

namespace allot {

std::string render_json(const run_figures &run) {
    string_sink out;
    json_report report(out);
    for (const std::string &word : run.command) report.command(word.c_str());
    report.ending({run.status, run.signal, nullptr});
    for (const tenant_figures &tenant : run.tenants) report.tenant(row_of(tenant));
    report.processes();
    for (const process_entry &process : run.processes) report.process(row_of(process));
    report.end();
    return out.text();
}

} // namespace allot
