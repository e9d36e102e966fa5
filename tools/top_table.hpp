// What `allot top` shows, without a screen: rows out of two looks at a hierarchy, sorted, as lines of a given width.
//
// It exists so that the order, the rates and the text can be tested without a terminal.
//
// Threads: one. Owner: values. Cost: linear in the tenants, and a sort.
#pragma once

#include "tools/hierarchy_view.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace allot {

enum class top_order { name, current, peak, percent, events, rate };

struct top_row {
    const tenant_figures *figures;
    double percent; // of memory.max; below 0: it has none
    double rate;    // bytes a second by which current has grown since the last look
    std::uint64_t nr_events;
};

struct top_settings {
    top_order order = top_order::current;
    bool reversed = false;
    bool as_tree = false; // children below their parent; the order holds among siblings
};

class top_table {
public:
    // A look at those at `top` and below, taken at a time in seconds that grows.
    void look(hierarchy_view view, const std::string &top, double seconds);

    [[nodiscard]] std::vector<top_row> rows(const top_settings &) const;
    // "web: 3 processes, 12 tenants, 34.1M in use"
    [[nodiscard]] std::string summary(const std::string &hierarchy) const;
    [[nodiscard]] const std::string &top() const { return top_; }

private:
    hierarchy_view view_;
    std::string top_;
    double seconds_ = 0;
    std::map<std::string, double> rates_;
};

// Columns: tenant, current, peak, max, %max, procs, events, rate. The first line is the headings.
[[nodiscard]] std::vector<std::string> top_lines(const std::vector<top_row> &, const top_settings &,
                                                 const std::string &top);

} // namespace allot
