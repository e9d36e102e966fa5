// The tree of a hierarchy, for people and as JSON.
//
// Threads: one. Owner: values. Cost: linear in the tenants.
#pragma once

#include "tools/figures.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace allot {

// A line each; children two blanks further in than their parent, which the first is.
[[nodiscard]] std::string render_tree(const std::vector<tenant_figures> &);

// The form of tenants is that of reports, with a few keys more.
[[nodiscard]] nlohmann::ordered_json json_of(const tenant_figures &);
[[nodiscard]] nlohmann::ordered_json json_of(const process_entry &);

// "high 3, oom 7"; "-": none happened.
[[nodiscard]] std::string events_text(const tenant_figures &);

// The last name of a path, two blanks for each level between it and `top`.
[[nodiscard]] std::string indented_name(const std::string &path, const std::string &top);

} // namespace allot
