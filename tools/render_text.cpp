#include "tools/render_text.hpp"

#include "tools/report_rows.hpp"

#include <cstring>

namespace allot {

std::string render_text(const run_figures &run) {
    string_sink out;
    text_report report(out);
    for (const std::string &word : run.command) report.command(word.c_str());
    report.ending({run.status, run.signal, run.signal == 0 ? nullptr : sigabbrev_np(run.signal)});
    if (run.images.empty()) {
        report.nothing_counted();
    } else {
        for (const image_figures &image : run.images) {
            report.measure(row_of(image));
            for (const tenant_figures &tenant : image.tenants) report.measure(tenant.path.c_str());
        }
        report.headings();
        for (const image_figures &image : run.images) {
            report.image(row_of(image));
            for (const tenant_figures &tenant : image.tenants) report.tenant(row_of(tenant));
            report.image_ends(row_of(image));
        }
    }
    report.end();
    return out.text();
}

} // namespace allot
