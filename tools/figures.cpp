#include "tools/figures.hpp"

#include <algorithm>

namespace allot {
namespace {

void add(tenant_figures &to, const tenant_figures &from) {
    to.current += from.current;
    to.peak = std::max(to.peak, from.peak);
    for (std::size_t i = 0; i < to.events.size(); ++i) to.events[i] += from.events[i];
    for (std::size_t i = 0; i < to.stats.size(); ++i) to.stats[i] += from.stats[i];
}

} // namespace

std::vector<tenant_figures> sum_of(const std::vector<image_figures> &images) {
    std::vector<tenant_figures> sum;
    for (const image_figures &image : images)
        for (const tenant_figures &tenant : image.tenants) {
            const auto same =
                std::find_if(sum.begin(), sum.end(), [&](const auto &s) { return s.path == tenant.path; });
            if (same == sum.end())
                sum.push_back(tenant);
            else
                add(*same, tenant);
        }
    // A tenant that only a later image has would stand behind its parent's other children: paths put it in its place.
    std::stable_sort(sum.begin(), sum.end(), [](const auto &a, const auto &b) { return comes_before(a.path, b.path); });
    return sum;
}

bool comes_before(const std::string &a, const std::string &b) {
    // As if the slash were the least of all bytes: else "/a-b" would stand between "/a" and "/a/c".
    const auto rank = [](char c) { return c == '/' ? 0 : 1 + static_cast<unsigned char>(c); };
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                        [&](char x, char y) { return rank(x) < rank(y); });
}

const char *word_of(image_state state) {
    switch (state) {
    case image_state::running: return "running";
    case image_state::exited: return "exited";
    case image_state::ended: return "ended";
    case image_state::unknown: break;
    }
    return "unknown";
}

} // namespace allot
