// `allot export`: figures for collectors.
#include "tools/command_arguments.hpp"
#include "tools/commands.hpp"
#include "tools/render_metrics.hpp"

#include <iostream>

namespace allot {

int export_command(std::vector<std::string> arguments) {
    hierarchy_arguments given("Prints the figures of a hierarchy in Prometheus's text format.", "allot export",
                              export_synopsis);
    bool is_open = false;
    std::size_t max_tenants = 1000;
    given.app.add_flag("--openmetrics", is_open, "As OpenMetrics 1.0");
    given.app.add_option("--max-tenants", max_tenants, "How many have series of their own; the rest are summed")
        ->type_name("N")
        ->check([](const std::string &text) {
            const bool is_count =
                !text.empty() && text.size() < 8 && text.find_first_not_of("0123456789") == std::string::npos;
            return is_count ? std::string() : fmt::format("'{}': expected a number below 10000000", text);
        });
    if (!given.read(arguments)) return exit_done;
    complete(given.choice);
    std::cout << render_metrics(view_of(given.choice),
                                is_open ? metrics_format::openmetrics : metrics_format::prometheus, max_tenants);
    return exit_done;
}

} // namespace allot
