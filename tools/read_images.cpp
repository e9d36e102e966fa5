#include "tools/read_images.hpp"

#include "accounting/region_reader.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace allot {
namespace {

image_state state_of(process_end end) {
    switch (end) {
    case process_end::running: return image_state::running;
    case process_end::exited: return image_state::exited;
    case process_end::died: return image_state::ended;
    case process_end::unknown: break;
    }
    return image_state::unknown;
}

tenant_figures figures_of(const region_reader &reader, std::uint32_t index, const tenant_view &view) {
    tenant_figures t;
    std::string path(reader.path_of(index, nullptr, 0) + 1, '\0');
    reader.path_of(index, path.data(), path.size());
    path.pop_back();
    t.path = path;
    t.current = view.current;
    t.peak = view.peak;
    t.min = view.min;
    t.low = view.low;
    t.high = view.high;
    t.max = view.max;
    std::copy(std::begin(view.events), std::end(view.events), t.events.begin());
    // A file that was cut can make a sum negative: nothing is less than nothing.
    std::transform(std::begin(view.stats), std::end(view.stats), t.stats.begin(),
                   [](std::int64_t value) { return static_cast<std::uint64_t>(std::max<std::int64_t>(value, 0)); });
    return t;
}

image_figures read_image(const std::string &file) {
    image_figures image;
    region_reader reader;
    const region_error error = reader.open(file.c_str());
    if (error != region_error::none) {
        image.problem = region_error_text(error);
        if (error == region_error::other_version)
            image.problem +=
                fmt::format(" (version {}.{}; this command reads {})", reader.major(), reader.minor(), region_major);
        return image;
    }
    image.pid = reader.process().pid;
    image.program = reader.process().name;
    image.state = state_of(reader.process().end);
    image.uncounted = reader.process().uncounted;
    image.uncounted_peak = reader.process().uncounted_peak;
    for (std::uint32_t i = 1; i < reader.tenants_end(); ++i) {
        tenant_view view;
        if (reader.tenant_at(i, view)) image.tenants.push_back(figures_of(reader, i, view));
    }
    std::sort(image.tenants.begin(), image.tenants.end(),
              [](const auto &a, const auto &b) { return comes_before(a.path, b.path); });
    return image;
}

} // namespace

std::vector<image_figures> read_images(const std::vector<std::string> &files) {
    std::vector<image_figures> images;
    for (const std::string &file : files) images.push_back(read_image(file));
    return images;
}

} // namespace allot
