#include "accounting/linux/any_engine.hpp"

namespace allot::memcg {

any_engine::~any_engine() = default;

group &any_engine::make_group(group *parent) {
    groups_.push_back(new_group(parent));
    group &g = *groups_.back();
    g.parent = parent;
    g.by_cpu = std::make_unique<stat_line[]>(cpus_.size());
    g.by_cpu_and_node = std::make_unique<stat_line[]>(cpus_.size() * size_.nodes);
    owners_.push_back(std::make_unique<owner>());
    owner &o = *owners_.back();
    o.references = std::make_unique<reference_line[]>(cpus_.size());
    o.of.store(&g, std::memory_order_relaxed);
    o.number = static_cast<std::uint32_t>(owners_.size());
    g.own = &o;
    return g;
}

void any_engine::destroy(group &g) {
    for (auto &o : owners_)
        if (o->of.load(std::memory_order_relaxed) == &g) o->of.store(g.parent, std::memory_order_relaxed);
}

std::int64_t any_engine::statistic(const group &g, slab_kind kind) const {
    std::int64_t sum = 0;
    for (std::size_t c = 0; c < cpus_.size(); ++c) sum += g.by_cpu[c].bytes[static_cast<std::uint32_t>(kind)];
    return sum;
}

std::int64_t any_engine::statistic_of_node(const group &g, slab_kind kind, std::uint32_t node) const {
    std::int64_t sum = 0;
    for (std::size_t c = 0; c < cpus_.size(); ++c)
        sum += g.by_cpu_and_node[c * size_.nodes + node].bytes[static_cast<std::uint32_t>(kind)];
    return sum;
}

std::int64_t any_engine::references(const owner &o) const {
    std::int64_t sum = 0;
    for (std::size_t c = 0; c < cpus_.size(); ++c) sum += o.references[c].count;
    return sum;
}

tally any_engine::counts() const {
    tally sum;
    for (const auto &c : cpus_) sum += c->counts;
    return sum;
}

} // namespace allot::memcg
