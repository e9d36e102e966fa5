#include "bench/page_tree.hpp"

#include "accounting/context_table.hpp"
#include "accounting/linux/engines.hpp"
#include "accounting/tenant.hpp"
#include "accounting/tenant_files.hpp"

namespace allot::bench {
namespace {

[[noreturn]] void fail_by_leak(const std::string &leaf, std::int64_t pages) {
    fail(leaf + " is charged for " + std::to_string(pages) + " pages when everything has been given back");
}

} // namespace

// --- Linux ----------------------------------------------------------------------------------------------------------------

namespace {

std::unique_ptr<memcg::any_engine> make_engine_named(const std::string &variant, std::uint32_t cpus) {
    if (const memcg::variant_entry *found = memcg::engine_named(variant)) return found->make({.cpus = cpus});
    std::string names = "null, allot";
    for (const memcg::variant_entry &entry : memcg::all_engines()) names += std::string{", "} + entry.name;
    fail("--variant " + variant + ": expected one of " + names);
}

} // namespace

linux_tree::linux_tree(const std::string &variant, const tree_shape &shape)
    : shape_(shape), engine_(make_engine_named(variant, shape.cpus + 1)) { // one for the background
    memcg::group *parent = &engine_->root();
    for (std::uint32_t level = 1; level < shape.levels; ++level) {
        parent = &engine_->create(*parent);
        if (level == 1) top_ = parent;
    }
    for (std::uint32_t i = 0; i < shape.leaves; ++i) leaves_.push_back(&engine_->create(*parent));
    if (top_ == nullptr) top_ = leaves_[0];
    engine_->set_max(*top_, top_max_pages);
    if (!shape.is_protected) return;
    engine_->set_protection(*top_, protected_min_pages, protected_low_pages);
    if (!engine_->charge_pages(engine_->cpu_of(shape.cpus), *top_, background_pages)) refused();
}

counts linux_tree::counted(std::uint64_t) const {
    memcg::tally sum;
    for (std::uint32_t i = 0; i < shape_.cpus; ++i) sum += engine_->cpu_of(i).counts;
    return counts_of(sum);
}

void linux_tree::verify_empty() const {
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
        const std::int64_t expected = shape_.is_protected && leaves_[i] == top_ ? background_pages : 0;
        const std::int64_t left = engine_->usage(*leaves_[i]) - expected;
        if (left != 0) fail_by_leak("leaf " + std::to_string(i), left);
    }
}

void linux_tree::refused() { fail("the engine refused pages below its limit"); }

// --- allot ----------------------------------------------------------------------------------------------------------------

namespace {

allot_tenant *create_tenant(const std::string &path) {
    allot_tenant *t = tenant_create_path(path.c_str());
    if (t == nullptr) fail("no tenant could be created at " + path);
    return t;
}

void set_pages(allot_tenant *t, const char *file, std::int64_t pages) {
    const std::string bytes = std::to_string(pages * std::int64_t{page_bytes});
    if (tenant_set(t, file, bytes.c_str()) != 0) fail(std::string{file} + " could not be set");
}

std::uint64_t used_pages(const allot_tenant *t) { return usage(tenant_from(t)->counter) / page_bytes; }

// Bytes that have been charged through a context and not given back: it changes with a walk, and by its thread alone.
std::int64_t charged_through(const context &c) {
    const context_cold &cold = cold_of(c);
    return c.stock.load(std::memory_order_relaxed) + cold.late.load(std::memory_order_relaxed) +
           cold.settled_bytes.load(std::memory_order_relaxed);
}

} // namespace

allot_tree::allot_tree(const tree_shape &shape) : shape_(shape) {
    if (!accounting_start()) fail("accounting could not start");
    std::string path;
    for (std::uint32_t level = 1; level < shape.levels; ++level) {
        path += "/level" + std::to_string(level);
        inner_.push_back(create_tenant(path));
    }
    for (std::uint32_t i = 0; i < shape.leaves; ++i)
        leaves_.push_back(create_tenant(path + "/leaf" + std::to_string(i)));
    top_ = inner_.empty() ? leaves_[0] : inner_[0];
    set_pages(top_, "memory.max", top_max_pages);
    if (!shape.is_protected) return;
    set_pages(top_, "memory.min", protected_min_pages);
    set_pages(top_, "memory.low", protected_low_pages);
    if (!charge_bytes(obj_cgroup_of(top_), background_pages * page_bytes, charge_kind::external))
        fail("the background was refused");
}

allot_tree::~allot_tree() {
    if (shape_.is_protected) uncharge_bytes(obj_cgroup_of(top_), background_pages * page_bytes, charge_kind::external);
    for (allot_tenant *leaf : leaves_) (void)tenant_destroy(leaf);
    for (std::size_t i = inner_.size(); i-- > 0;) (void)tenant_destroy(inner_[i]);
}

counts allot_tree::counted(std::uint64_t operations) const {
    constexpr std::uint64_t own_locked_a_slow_path = 3; // its lock taken and given back, and what handlers left it
    const std::uint64_t usage = walks_ * (shape_.levels + 1);
    return {{"usage", usage},
            {"shared", usage},
            {"walks", walks_},
            {"slow_paths", slow_paths_},
            {"statistics", operations},
            {"flushed", slow_paths_},
            {"own_locked", slow_paths_ * own_locked_a_slow_path}};
}

void allot_tree::verify_empty() const {
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
        const std::uint64_t expected = shape_.is_protected && leaves_[i] == top_ ? background_pages : 0;
        if (used_pages(leaves_[i]) != expected)
            fail_by_leak("leaf " + std::to_string(i), static_cast<std::int64_t>(used_pages(leaves_[i]) - expected));
    }
}

allot_tree::cpu::cpu(allot_tree &tree, std::uint32_t) : tree_(tree) {
    for (allot_tenant *leaf : tree.leaves_) {
        contexts_.push_back(context_open(obj_cgroup_of(leaf)));
        if (contexts_.back() == nullptr) fail("no context could be opened");
    }
}

allot_tree::cpu::~cpu() {
    for (context *c : contexts_) context_close(c);
    std::lock_guard<std::mutex> guard(tree_.mutex_);
    tree_.slow_paths_ += slow_paths_;
    tree_.walks_ += walks_;
}

void allot_tree::cpu::charge_slow(context &c, net_word d) {
    const std::int64_t before = charged_through(c);
    if (!context_charge_slow(&c, d)) fail("allot refused pages below its limit");
    ++slow_paths_;
    walks_ += charged_through(c) != before;
}

void allot_tree::cpu::uncharge_slow(context &c) {
    const std::int64_t before = charged_through(c);
    context_uncharge_slow(&c);
    ++slow_paths_;
    walks_ += charged_through(c) != before;
}

} // namespace allot::bench
