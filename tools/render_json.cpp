#include "tools/render_json.hpp"

#include "tools/report_rows.hpp"

namespace allot {

std::string render_json(const run_figures &run) {
    string_sink out;
    json_report report(out);
    for (const std::string &word : run.command) report.command(word.c_str());
    report.ending({run.status, run.signal, nullptr});
    for (const tenant_figures &tenant : sum_of(run.images)) report.tenant(row_of(tenant));
    report.images();
    for (const image_figures &image : run.images) {
        report.image(row_of(image));
        for (const tenant_figures &tenant : image.tenants) report.tenant(row_of(tenant));
        report.image_ends();
    }
    report.end();
    return out.text();
}

} // namespace allot
