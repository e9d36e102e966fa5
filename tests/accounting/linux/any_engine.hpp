// Every variant behind one interface, so that a rule is compiled once and holds for all.
//
// Groups are numbers in the order of their creation, 0 is the root; a charge for a group is one for its own owner.
#pragma once

#include "accounting/linux/engine.hpp"
#include "accounting/linux/variants.hpp"

#include <memory>
#include <vector>

namespace allot::memcg {

class any_engine {
public:
    virtual ~any_engine() = default;
    [[nodiscard]] virtual const char *name() const = 0;
    [[nodiscard]] virtual const engine_config &config() const = 0;
    virtual int create(int parent) = 0;
    virtual void destroy(int g) = 0;
    virtual void set_max(int g, std::int64_t pages) = 0;
    virtual void set_protection(int g, std::int64_t min_pages, std::int64_t low_pages) = 0;
    [[nodiscard]] virtual bool charge(unsigned cpu, int g, std::int64_t size, std::uint32_t node = 0,
                                      slab_kind kind = slab_kind::unreclaimable) = 0;
    virtual void uncharge(unsigned cpu, int g, std::int64_t size, std::uint32_t node = 0,
                          slab_kind kind = slab_kind::unreclaimable) = 0;
    [[nodiscard]] virtual bool charge_pages(unsigned cpu, int g, std::int64_t pages) = 0;
    virtual void uncharge_pages(unsigned cpu, int g, std::int64_t pages) = 0;
    virtual void take_off_line(unsigned cpu) = 0;

    [[nodiscard]] virtual std::int64_t usage(int g) const = 0; // pages
    [[nodiscard]] virtual std::int64_t kernel_usage(int g) const = 0;
    [[nodiscard]] virtual std::int64_t spare_bytes(int g) const = 0; // of its owner
    [[nodiscard]] virtual std::int64_t bytes_in_stocks(int g) const = 0;
    [[nodiscard]] virtual std::int64_t pages_in_stocks(int g) const = 0;
    [[nodiscard]] virtual std::int64_t statistic(int g, slab_kind kind) const = 0;
    [[nodiscard]] virtual std::int64_t statistic_of_node(int g, slab_kind kind, std::uint32_t node) const = 0;
    [[nodiscard]] virtual std::uint64_t max_events(int g) const = 0;
    [[nodiscard]] virtual bool must_drain(unsigned cpu) const = 0;
    [[nodiscard]] virtual const tally &counts(unsigned cpu) const = 0;

    [[nodiscard]] std::int64_t cost_of(std::int64_t size) const { return size + config().owner_bytes; }
};

template<typename Variant>
class engine_of final : public any_engine {
public:
    engine_of(std::uint32_t cpus, std::uint32_t nodes) : e_(cpus, nodes) {
        for (std::uint32_t i = 0; i < cpus; ++i) cpus_.push_back(&e_.cpu_of(i));
        groups_.push_back(&e_.root());
    }
    const char *name() const override { return Variant::name; }
    const engine_config &config() const override { return Variant::config; }
    int create(int parent) override {
        groups_.push_back(&e_.create(group(parent)));
        return static_cast<int>(groups_.size()) - 1;
    }
    void destroy(int g) override { e_.destroy(group(g)); }
    void set_max(int g, std::int64_t pages) override { e_.set_max(group(g), pages); }
    void set_protection(int g, std::int64_t min, std::int64_t low) override { e_.set_protection(group(g), min, low); }
    bool charge(unsigned cpu, int g, std::int64_t size, std::uint32_t node, slab_kind kind) override {
        return e_.charge(*cpus_[cpu], *group(g).own, size, node, kind);
    }
    void uncharge(unsigned cpu, int g, std::int64_t size, std::uint32_t node, slab_kind kind) override {
        e_.uncharge(*cpus_[cpu], *group(g).own, size, node, kind);
    }
    bool charge_pages(unsigned cpu, int g, std::int64_t pages) override {
        return e_.charge_pages(*cpus_[cpu], group(g), pages);
    }
    void uncharge_pages(unsigned cpu, int g, std::int64_t pages) override {
        e_.uncharge_pages(*cpus_[cpu], group(g), pages);
    }
    void take_off_line(unsigned cpu) override { e_.take_off_line(*cpus_[cpu]); }

    std::int64_t usage(int g) const override { return group(g).memory.usage; }
    std::int64_t kernel_usage(int g) const override { return group(g).kernel_memory.usage; }
    std::int64_t spare_bytes(int g) const override { return group(g).own->spare_bytes; }
    std::int64_t bytes_in_stocks(int g) const override { return e_.bytes_in_stocks(*group(g).own); }
    std::int64_t pages_in_stocks(int g) const override { return e_.pages_in_stocks(group(g)); }
    std::int64_t statistic(int g, slab_kind kind) const override { return e_.statistic(group(g), kind); }
    std::int64_t statistic_of_node(int g, slab_kind kind, std::uint32_t node) const override {
        return e_.statistic_of_node(group(g), kind, node);
    }
    std::uint64_t max_events(int g) const override { return group(g).max_events; }
    bool must_drain(unsigned cpu) const override { return cpus_[cpu]->must_drain; }
    const tally &counts(unsigned cpu) const override { return cpus_[cpu]->counts; }

private:
    typename engine<Variant>::group &group(int g) const { return *groups_[static_cast<std::size_t>(g)]; }

    engine<Variant> e_;
    std::vector<typename engine<Variant>::cpu *> cpus_;
    std::vector<typename engine<Variant>::group *> groups_;
};

template<typename Variant>
std::unique_ptr<any_engine> make_engine(std::uint32_t cpus, std::uint32_t nodes = 1) {
    return std::make_unique<engine_of<Variant>>(cpus, nodes);
}

// Of every variant, in the order of variants.def.
using engine_maker = std::unique_ptr<any_engine> (*)(std::uint32_t cpus, std::uint32_t nodes);
inline std::vector<engine_maker> makers_of_all_variants() {
    return []<typename... Variant>(std::tuple<Variant...>) {
        return std::vector<engine_maker>{make_engine<Variant>...};
    }(all_variants{});
}

} // namespace allot::memcg
