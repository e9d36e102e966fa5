// The tree that pages are charged to, three ways: by nobody, by an engine of Linux's, by allot's own.
//
// They exist so that one message loop (page_path.hpp) is compiled for each: what differs is a type, and without accounting
// there is not even a call. A tree is a chain of groups below the root, with leaves at its end; a cpu is what one thread
// charges through: with Linux's engines a CPU with its stocks, with allot's a context of each leaf. What is charged is an
// amount, made once, as the allocator makes that of an object once a slab.
//
// With protection, min and low are set at the top level, and a charge of it alone keeps its usage above both: as where they
// protect something, and the state in which Linux's change (A) saves its exchanges.
//
// Threads: a tree is made and read by the main thread; a cpu belongs to the thread that makes it, or is used by one thread
//   at a time. Owner: a tree outlives its cpus.
// Invariants: 1. Each cpu of a tree has its own number, below tree_shape::cpus.
//             2. When all cpus are gone, nothing is charged to a leaf: verify_empty() ends the program otherwise.
// Cost: null_tree none; allot_tree that of the allocator's fast path (context.hpp), pages counted as objects; linux_tree
//   an indirect call and what the engine does.
#pragma once

#include "accounting/accounting.hpp"
#include "accounting/linux/any_engine.hpp"
#include "bench/experiment.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace allot::bench {

struct tree_shape {
    std::uint32_t cpus = 1;
    std::uint32_t levels = 3; // below the root, the leaf included
    std::uint32_t leaves = 1;
    bool is_protected = false;
};

// In pages. The limit only has to be there: allot and Linux both compare with it.
inline constexpr std::int64_t protected_min_pages = 1024, protected_low_pages = 2048, background_pages = 4096;
inline constexpr std::int64_t top_max_pages = 16 * 1024 * 1024 / 4;

class null_tree {
public:
    explicit null_tree(const tree_shape &) {}

    class cpu {
    public:
        cpu(null_tree &, std::uint32_t) {}
        struct amount {};
        static amount amount_of(std::uint32_t) { return {}; }
        // To the compiler it is what a call would be: it forgets what it knew of memory, here as with the others.
        void charge(std::uint32_t, amount) { __asm__ volatile("" ::: "memory"); }
        void uncharge(std::uint32_t, amount) { __asm__ volatile("" ::: "memory"); }
    };

    [[nodiscard]] counts counted(std::uint64_t) const { return {{"shared", 0}}; }
    void verify_empty() const {}
};

class linux_tree {
public:
    linux_tree(const std::string &variant, const tree_shape &);

    class cpu {
    public:
        cpu(linux_tree &tree, std::uint32_t number)
            : engine_(*tree.engine_), cpu_(tree.engine_->cpu_of(number)), leaves_(tree.leaves_.data()) {}
        ~cpu() { engine_.take_off_line(cpu_); }
        cpu(const cpu &) = delete;
        cpu &operator=(const cpu &) = delete;

        using amount = std::int64_t; // pages
        static amount amount_of(std::uint32_t pages) { return pages; }
        void charge(std::uint32_t leaf, amount pages) {
            if (!engine_.charge_pages(cpu_, *leaves_[leaf], pages)) refused();
        }
        void uncharge(std::uint32_t leaf, amount pages) { engine_.uncharge_pages(cpu_, *leaves_[leaf], pages); }

    private:
        memcg::any_engine &engine_;
        memcg::cpu &cpu_;
        memcg::group *const *const leaves_;
    };

    // Of all cpus. The argument is allot_tree's.
    [[nodiscard]] counts counted(std::uint64_t) const;
    void verify_empty() const;

private:
    [[noreturn]] static void refused();

    const tree_shape shape_;
    std::unique_ptr<memcg::any_engine> engine_;
    memcg::group *top_ = nullptr;
    std::vector<memcg::group *> leaves_;
};

// How allot's side is counted: a slow path that changes what is charged does one read-modify-write at each level, the root
// included, of a line that every thread's charges write: `usage`, which is `shared`, as it is Linux's. The lock of a context
// and what else of it is changed by locked instructions lie in lines that only its thread writes, unless another thread
// drains it, which no experiment does: `own_locked`, three a slow path. Statistics travel in the word that is charged: each
// operation updates them, each slow path flushes them.
class allot_tree {
public:
    explicit allot_tree(const tree_shape &);
    ~allot_tree();
    allot_tree(const allot_tree &) = delete;
    allot_tree &operator=(const allot_tree &) = delete;

    class cpu {
    public:
        cpu(allot_tree &, std::uint32_t number);
        ~cpu();
        cpu(const cpu &) = delete;
        cpu &operator=(const cpu &) = delete;

        using amount = net_word;
        static amount amount_of(std::uint32_t pages) {
            return net_of(std::int64_t{pages} * std::int64_t{page_bytes}, static_cast<std::int32_t>(pages));
        }
        void charge(std::uint32_t leaf, amount d) {
            if (!context_charge(*contexts_[leaf], d)) [[unlikely]]
                charge_slow(*contexts_[leaf], d);
        }
        void uncharge(std::uint32_t leaf, amount d) {
            if (!context_uncharge(*contexts_[leaf], d)) [[unlikely]]
                uncharge_slow(*contexts_[leaf]);
        }

    private:
        void charge_slow(context &, net_word d);
        void uncharge_slow(context &);

        std::vector<context *> contexts_; // by leaf
        std::uint64_t slow_paths_ = 0, walks_ = 0;
        allot_tree &tree_;
    };

    // `operations` is how often charge() and uncharge() were called: counting it is not left to the fast path.
    [[nodiscard]] counts counted(std::uint64_t operations) const;
    void verify_empty() const;

private:
    const tree_shape shape_;
    std::vector<allot_tenant *> inner_, leaves_; // inner_ from the top down
    allot_tenant *top_ = nullptr;
    std::mutex mutex_; // protects what cpus leave behind
    std::uint64_t slow_paths_ = 0, walks_ = 0;
};

// Calls with(tree) for the tree of that variant, and frees it; fail() with the list of names where there is none.
template<typename With>
auto with_tree(const std::string &variant, const tree_shape &shape, With with) {
    if (variant == "null") {
        null_tree tree(shape);
        return with(tree);
    }
    if (variant == "allot") {
        allot_tree tree(shape);
        return with(tree);
    }
    linux_tree tree(variant, shape);
    return with(tree);
}

} // namespace allot::bench
