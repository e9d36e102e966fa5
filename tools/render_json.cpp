#include "tools/render_json.hpp"

#include "accounting/base/units.hpp"
#include "accounting/tables.hpp"

#include <nlohmann/json.hpp>

namespace allot {
namespace {

using json = nlohmann::ordered_json;

json limit(std::uint64_t bytes) { return bytes >= unlimited ? json(nullptr) : json(bytes); }

json as_json(const std::vector<tenant_figures> &tenants) {
    json list = json::array();
    for (const tenant_figures &t : tenants) {
        json events = json::object();
        for (std::size_t i = 0; i < t.events.size(); ++i) events[event_table[i].name] = t.events[i];
        json stat = json::object();
        for (std::size_t i = 0; i < t.stats.size(); ++i) stat[stat_table[i].name] = t.stats[i];
        list.push_back({{"path", t.path},
                        {"current", t.current},
                        {"peak", t.peak},
                        {"min", limit(t.min)},
                        {"low", limit(t.low)},
                        {"high", limit(t.high)},
                        {"max", limit(t.max)},
                        {"events", events},
                        {"stat", stat}});
    }
    return list;
}

} // namespace

std::string render_json(const run_figures &run) {
    json images = json::array();
    for (const image_figures &image : run.images) {
        json one = {{"pid", image.pid}, {"program", image.program}, {"state", word_of(image.state)}};
        if (image.uncounted_peak != 0)
            one["uncounted"] = {{"current", image.uncounted}, {"peak", image.uncounted_peak}};
        if (!image.problem.empty()) one["problem"] = image.problem;
        one["tenants"] = as_json(image.tenants);
        images.push_back(one);
    }
    const json whole = {
        {"command", run.command}, {"status", run.status}, {"tenants", as_json(sum_of(run.images))}, {"images", images}};
    // Names of tenants and arguments are bytes; what is not UTF-8 is replaced rather than refused.
    return whole.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

} // namespace allot
