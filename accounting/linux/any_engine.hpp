// The kernel's charge path behind one interface: what callers hold of an engine, whichever variant it is of.
//
// It exists so that each variant is compiled once (engines.hpp), and a test, a benchmark or an allocator that is bound to
// it chooses one by name, for one indirect call an operation. What does not differ between variants is here as well:
// CPUs, groups, owners, and the tree of them.
//
// Threads: a cpu is used by one thread at a time, and everything of it goes through that thread; the tree changes when
//   nobody charges. Owner: the engine owns groups, owners and CPUs, until its end: nothing is freed before.
// Invariants: an owner's references are its live objects and the byte stocks that name it.
// Cost: see tally.hpp.
#pragma once

#include "accounting/base/cache_line.hpp"
#include "accounting/linux/charger.hpp"
#include "accounting/linux/engine_config.hpp"
#include "accounting/linux/tally.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace allot::memcg {

struct group;

// A CPU's part of a number that all count: written by it alone, read by anyone when all is quiet; relaxed.
inline void add_locally(std::atomic<std::int64_t> &part, std::int64_t n) {
    part.store(part.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}
struct alignas(cache_line_bytes) reference_line {
    std::atomic<std::int64_t> count{0};
};
struct alignas(cache_line_bytes) stat_line {
    std::atomic<std::int64_t> bytes[nr_slab_kinds] = {};
};

// What objects name: it outlives its group, and belongs to the parent then. All of it is on one line, as in the kernel: who
// only wants to know where to count a reference, or whom to charge, reads the line that spare_bytes is written on.
struct alignas(cache_line_bytes) owner {
    std::unique_ptr<reference_line[]> references; // by CPU; made with the owner
    std::atomic<group *> of{nullptr};             // changed by destroy() alone, read by every charge of pages
    std::atomic<std::int64_t> spare_bytes{0};     // exchanged and added to by every CPU; relaxed: a sum
    std::uint32_t number = 0;                     // in the order of creation, from 1; for who names owners so
};
static_assert(sizeof(owner) == cache_line_bytes);

// A memcg; an engine's own has its counters behind this.
struct group {
    group *parent = nullptr;
    owner *own = nullptr;
    std::unique_ptr<stat_line[]> by_cpu, by_cpu_and_node; // each line written by its CPU alone
    std::atomic<std::uint64_t> max_events{0};             // relaxed: a figure
    virtual ~group() = default;
};

struct cpu {
    explicit cpu(std::uint32_t number) : id(number) {}
    virtual ~cpu() = default;
    const std::uint32_t id;
    // Set by others that ran out, taken at this CPU's next operation; relaxed: there is no other message.
    std::atomic<bool> must_drain{false};
    tally counts;
};

struct engine_size {
    std::uint32_t cpus, nodes = 1;
};

class any_engine : public charger {
public:
    ~any_engine() override;
    any_engine(const any_engine &) = delete;
    any_engine &operator=(const any_engine &) = delete;

    [[nodiscard]] virtual const char *name() const = 0;
    [[nodiscard]] virtual const engine_config &config() const = 0;

    cpu &cpu_of(std::uint32_t number) { return *cpus_[number]; }
    group &root() { return *groups_.front(); }
    group &create(group &parent) { return make_group(&parent); }
    owner &owner_numbered(std::uint32_t number) { return *owners_[number - 1]; }
    // Its owners, and those that it inherited, belong to the parent; what is charged stays where it is, in all above.
    void destroy(group &g);
    virtual void set_max(group &g, std::int64_t pages) = 0;
    virtual void set_protection(group &g, std::int64_t min_pages, std::int64_t low_pages) = 0;
    // From now on, for figures that are to be had without them.
    void leave_out_statistics() { keeps_statistics_ = false; }

    // What an object of that size is charged (charge, uncharge): larger ones than slabs have come in whole pages of their
    // own.
    [[nodiscard]] std::int64_t cost_of(std::int64_t size) const {
        return size > largest_slab_object ? pages_of(size) * page_bytes : size + config().owner_bytes;
    }

    // --- whole pages, as sockets charge them --------------------------------------------------------------------------------

    [[nodiscard]] virtual bool charge_pages(cpu &c, group &g, std::int64_t pages) = 0;
    virtual void uncharge_pages(cpu &c, group &g, std::int64_t pages) = 0;

    // Its thread goes away: what it keeps is given back.
    virtual void take_off_line(cpu &c) = 0;

    // --- what a test compares, when all is quiet -----------------------------------------------------------------------------

    [[nodiscard]] virtual std::int64_t usage(const group &g) const = 0; // pages
    [[nodiscard]] virtual std::int64_t kernel_usage(const group &g) const = 0;
    [[nodiscard]] virtual std::int64_t bytes_in_stocks(const owner &o) const = 0;
    [[nodiscard]] virtual std::int64_t pages_in_stocks(const group &g) const = 0;
    [[nodiscard]] std::int64_t statistic(const group &g, slab_kind kind) const;
    [[nodiscard]] std::int64_t statistic_of_node(const group &g, slab_kind kind, std::uint32_t node) const;
    [[nodiscard]] std::int64_t references(const owner &o) const;
    [[nodiscard]] tally counts() const; // of all CPUs

    // kmalloc's largest; above, pages are charged, without a place for the owner.
    static constexpr std::int64_t largest_slab_object = 8192;
    static constexpr std::int64_t pages_of(std::int64_t bytes) { return (bytes + page_bytes - 1) / page_bytes; }

protected:
    explicit any_engine(engine_size size) : size_(size) {}
    group &make_group(group *parent);
    void add_cpu(std::unique_ptr<cpu> c) { cpus_.push_back(std::move(c)); }

    [[nodiscard]] const std::vector<std::unique_ptr<cpu>> &cpus() const { return cpus_; }
    [[nodiscard]] std::uint32_t nr_nodes() const { return size_.nodes; }
    [[nodiscard]] bool keeps_statistics() const { return keeps_statistics_; }

private:
    [[nodiscard]] virtual std::unique_ptr<group> new_group(
        group *parent) = 0; // with its counters linked to the parent's

    const engine_size size_;
    bool keeps_statistics_ = true;
    std::vector<std::unique_ptr<cpu>> cpus_;
    std::vector<std::unique_ptr<group>> groups_; // the root first
    std::vector<std::unique_ptr<owner>> owners_;
};

} // namespace allot::memcg
