// A hierarchy as values: read from what is attached, a copy mostly.
//
// It exists between the file, whose records name each other by index, and the renderers, which want paths in the order of a
// tree.
//
// Threads: one. Owner: values. Cost: as figures of accounting/shared, and a path for each tenant.
#pragma once

#include "tools/figures.hpp"
#include "tools/hierarchy.hpp"

#include <string>
#include <vector>

namespace allot {

struct hierarchy_view {
    std::vector<tenant_figures> tenants;  // living ones; a parent before its children
    std::vector<process_entry> processes; // all that are known, oldest first
};

// Of what is attached.
[[nodiscard]] hierarchy_view view_of_attached();

// Of a copy that is made for it, once what dead processes left has been put in order. Throws `failure`.
[[nodiscard]] hierarchy_view view_of(const hierarchy_choice &);
// The same without the dead ones' bytes put in order.
[[nodiscard]] hierarchy_view view_as_it_is(const hierarchy_choice &);

// The tenant at a path and those below it. Throws `failure`: there is none.
[[nodiscard]] std::vector<tenant_figures> subtree_of(std::vector<tenant_figures>, const std::string &top);

[[nodiscard]] std::size_t nr_living(const std::vector<process_entry> &);

} // namespace allot
