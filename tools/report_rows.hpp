// From figures to the rows of a report, and a string as its sink: what the renderers share.
//
// Threads: one. Owner: rows point into the figures. Cost: copies numbers.
#pragma once

#include "accounting/usage_report.hpp"
#include "tools/figures.hpp"

#include <algorithm>
#include <string>

namespace allot {

class string_sink : public text_sink {
public:
    string_sink()
        : text_sink(
              buffer_, sizeof buffer_,
              [](void *to, const char *text, std::size_t length) {
                  static_cast<std::string *>(to)->append(text, length);
              },
              &text_) {}
    string_sink(const string_sink &) = delete;
    string_sink &operator=(const string_sink &) = delete;
    const std::string &text() const { return text_; } // complete after flush()

private:
    char buffer_[4096];
    std::string text_;
};

inline tenant_row row_of(const tenant_figures &t) {
    tenant_row row{t.path.c_str(), t.current, t.peak, t.min, t.low, t.high, t.max, {}, {}};
    std::copy(t.events.begin(), t.events.end(), row.events);
    std::copy(t.stats.begin(), t.stats.end(), row.stats);
    return row;
}

inline process_row row_of(const process_entry &p) {
    return {p.pid, p.program.c_str(), word_of(p.state), p.peak, p.uncounted, p.uncounted_peak};
}

} // namespace allot
