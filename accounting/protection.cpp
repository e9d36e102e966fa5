#include "accounting/protection.hpp"

#include "accounting/base/ratio.hpp"
#include "accounting/shared/nodes.hpp"
#include "accounting/tenant.hpp"

namespace allot {

namespace {

// One of the two settings: `usage` of the level and its parent, what it asks for, what the parent has, what the siblings,
// itself included, use of what they ask for.
std::uint64_t effective(std::uint64_t usage, std::uint64_t parents_usage, std::uint64_t asked, std::uint64_t parents,
                        std::uint64_t siblings) {
    std::uint64_t claimed = usage < asked ? usage : asked;
    if (siblings > parents) return ratio_floor(claimed, parents, siblings);
    // What nobody claims goes to what is not claimed for, by its size.
    if (parents > siblings && parents_usage > siblings && usage > claimed)
        claimed += ratio_floor(parents - siblings, usage - claimed, parents_usage - siblings);
    return claimed;
}

} // namespace

protection effective_protection(const protection_level &level, const protection_level &parent,
                                const protection &parents) {
    return {effective(level.usage, parent.usage, level.asked.min, parents.min, parent.children.min),
            effective(level.usage, parent.usage, level.asked.low, parents.low, parent.children.low)};
}

std::uint64_t unprotected_part(std::uint64_t bytes, std::uint64_t usage, std::uint64_t protected_bytes) {
    if (protected_bytes == 0) return bytes;
    if (protected_bytes >= usage) return 0;
    return ratio_floor(bytes, usage - protected_bytes, usage);
}

namespace {

protection_level shared_level_of(const tenant &t) {
    const level_figures of = figures_of(t);
    auto read = [](const std::atomic<std::uint64_t> &value) { return value.load(std::memory_order_relaxed); };
    protection_level level{usage(t), {read(of.min), read(of.low)}, {0, 0}};
    for (std::uint32_t n = shared::next_living(1); n != 0; n = shared::next_living(n + 1)) {
        const shared::node &child = shared::node_at(n);
        if (child.parent != t.counter.node) continue;
        const std::uint64_t used = read(child.usage.value), min = read(child.set.min), low = read(child.set.low);
        level.children.min += used < min ? used : min;
        level.children.low += used < low ? used : low;
    }
    return level;
}

} // namespace

protection_level protection_level_of(const tenant &t) {
    if (is_shared(t)) return shared_level_of(t);
    const page_counter &c = t.counter;
    auto read = [](const std::atomic<std::uint64_t> &value) { return value.load(std::memory_order_relaxed); };
    // Of two children's threads the one that takes away may come to the sum first.
    auto sum = [read](const std::atomic<std::uint64_t> &of) {
        auto bytes = static_cast<std::int64_t>(read(of));
        return bytes < 0 ? 0 : static_cast<std::uint64_t>(bytes);
    };
    return {usage(c), {read(c.min), read(c.low)}, {sum(c.children_min_usage), sum(c.children_low_usage)}};
}

protection protection_in(const tenant &t, const tenant &top) {
    const tenant *chain[tenant_depth_max + 1];
    std::uint32_t below = 0;
    for (const tenant *at = &t; at != &top; at = parent_of(*at)) chain[below++] = at;
    if (below == 0) return {0, 0};
    protection_level parent = protection_level_of(*chain[--below]);
    protection has = protection_at_the_top(parent);
    while (below-- > 0) {
        protection_level level = protection_level_of(*chain[below]);
        has = effective_protection(level, parent, has);
        parent = level;
    }
    return has;
}

} // namespace allot
