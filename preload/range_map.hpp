// An ordered map of address ranges that do not overlap: what the process has mapped through libc, and who paid for it.
//
// It exists because munmap, mprotect and mremap name addresses, in any cut they like, and the books need the owner of
// each byte. A tree of nodes in its own memory, since it serves the functions from which malloc gets memory.
//
// Threads: none of its own; the caller holds a lock around every call, but not while it looks at ranges it has cut out.
// Owner: whoever holds the map owns the ranges in it; a cut hands ranges to the caller until paste() or drop().
// Invariants:
//   1. Ranges in the map are not empty and do not overlap.
//   2. Touching ranges with the same owner and state are one range, once paste() or tidy() has seen their border.
//   3. Each node with an owner holds one reference to it, taken and given back through `pins`.
// Cost: O(log n) to insert, cut and paste; no system call but one in a thousand insertions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace allot {

enum class range_state : std::uint32_t {
    reserved, // private and anonymous, not writable yet, free of charge
    writable, // charged to its owner; an owner of 0: nobody was charged
    inherited, // writable, and paid for, on behalf of its owner, by the process that this one was forked from; without a reference
};

struct mapped_range {
    std::uintptr_t start;
    std::uintptr_t end;
    std::uint32_t owner; // obj_cgroup, 0 for nobody
    range_state state;
};

// How nodes hold references to owners; called with the caller's lock held.
struct range_pins {
    void (*grab)(std::uint32_t owner);
    void (*put)(std::uint32_t owner);
};

class range_map {
public:
    struct node : mapped_range {
        node *left;
        node *right;
        std::uint32_t priority;
    };

    constexpr explicit range_map(range_pins pins) : pins_(pins) {}
    range_map(const range_map &) = delete;
    range_map &operator=(const range_map &) = delete;

    // Nodes for the operations that follow: one an insert, two a cut. False: the system gives no more memory.
    [[nodiscard]] bool reserve(std::size_t nodes);

    // Nothing may be mapped there: cut it out first. Uses one node.
    void insert(const mapped_range &range);

    // Takes [start, end) out, splitting what crosses the edges. Null: nothing was there. Uses up to two nodes.
    [[nodiscard]] node *cut(std::uintptr_t start, std::uintptr_t end);

    // Puts ranges back that were cut out, all within [start, end), where the map holds nothing now.
    void paste(node *ranges, std::uintptr_t start, std::uintptr_t end);

    // Joins what is alike within [start, end], after owners or states there have been changed.
    void tidy(std::uintptr_t start, std::uintptr_t end);

    // Frees the nodes of ranges that were cut out.
    void drop(node *ranges);

    // Changes the owner and state of a range that was cut out.
    void assign(node &range, std::uint32_t owner, range_state state);

    // In the child of a fork: what is writable becomes inherited, without putting references, which are the parent's.
    void disown_all();
    // When the map was caught in the middle of a change: forgets everything; the nodes are lost.
    void forget_all();

    bool contains(std::uintptr_t address) const;

    // In order of addresses. f(node &) may change anything but start and end.
    template<class F>
    static void for_each(node *ranges, F &&f) {
        if (!ranges) return;
        for_each(ranges->left, f);
        f(*ranges);
        for_each(ranges->right, f);
    }
    template<class F>
    void for_each(F &&f) {
        for_each(root_, f);
    }

    // Moves ranges that were cut out by a distance, which may be negative.
    static void shift(node *ranges, std::intptr_t distance);

private:
    node *take_node();
    void give_node(node *n);
    void split_at(std::uintptr_t address);
    void coalesce_at(std::uintptr_t address);
    node *find_at_or_below(std::uintptr_t address) const;
    node *find_at_or_above(std::uintptr_t address) const;
    std::uint32_t next_priority();

    static void split(node *tree, std::uintptr_t key, node *&below, node *&rest);
    static node *join(node *low, node *high);

    node *root_ = nullptr;
    node *free_ = nullptr;
    std::size_t free_count_ = 0;
    std::uint32_t seed_ = 0x9e3779b9;
    range_pins pins_;
};

} // namespace allot
