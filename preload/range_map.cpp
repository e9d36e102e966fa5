#include "preload/range_map.hpp"

#include "accounting/base/os.hpp"

namespace allot {

namespace {

// The first nodes cost no system call; most programs never need more.
constexpr std::size_t first_nodes = 64;
constinit range_map::node first_chunk[first_nodes]{};
constinit bool first_chunk_used = false;
constexpr std::size_t chunk_bytes = 64 * 1024;

// Whose reference a range holds: that of an inherited one is the parent's.
std::uint32_t pinned_by(const mapped_range &range) { return range.state == range_state::inherited ? 0 : range.owner; }

// Recursion is as deep as the tree: about 40 for the 65,530 mappings that Linux allows a process.
void disown(range_map::node *n) {
    if (!n) return;
    disown(n->left);
    if (n->state == range_state::writable) n->state = range_state::inherited;
    disown(n->right);
}

} // namespace

bool range_map::reserve(std::size_t nodes) {
    while (free_count_ < nodes) {
        node *chunk = first_chunk;
        std::size_t count = first_nodes;
        if (first_chunk_used) {
            const std::uintptr_t got = os_map(chunk_bytes);
            if (got == 0) return false;
            chunk = reinterpret_cast<node *>(got);
            count = chunk_bytes / sizeof(node);
        }
        first_chunk_used = true;
        for (std::size_t i = count; i-- > 0;) {
            chunk[i].left = free_;
            free_ = &chunk[i];
        }
        free_count_ += count;
    }
    return true;
}

range_map::node *range_map::take_node() {
    node *n = free_;
    free_ = n->left;
    --free_count_;
    return n;
}

void range_map::give_node(node *n) {
    if (pinned_by(*n)) pins_.put(n->owner);
    n->left = free_;
    free_ = n;
    ++free_count_;
}

// xorshift: nobody attacks the shape of this tree, it must only not follow the addresses.
std::uint32_t range_map::next_priority() {
    seed_ ^= seed_ << 13;
    seed_ ^= seed_ >> 17;
    seed_ ^= seed_ << 5;
    return seed_;
}

void range_map::split(node *tree, std::uintptr_t key, node *&below, node *&rest) {
    node **low = &below;
    node **high = &rest;
    while (tree) {
        if (tree->start < key) {
            *low = tree;
            low = &tree->right;
            tree = tree->right;
        } else {
            *high = tree;
            high = &tree->left;
            tree = tree->left;
        }
    }
    *low = nullptr;
    *high = nullptr;
}

range_map::node *range_map::join(node *low, node *high) {
    node *root = nullptr;
    node **link = &root;
    while (low && high) {
        if (low->priority >= high->priority) {
            *link = low;
            link = &low->right;
            low = low->right;
        } else {
            *link = high;
            link = &high->left;
            high = high->left;
        }
    }
    *link = low ? low : high;
    return root;
}

range_map::node *range_map::find_at_or_below(std::uintptr_t address) const {
    node *best = nullptr;
    for (node *n = root_; n;) {
        if (n->start <= address) {
            best = n;
            n = n->right;
        } else {
            n = n->left;
        }
    }
    return best;
}

range_map::node *range_map::find_at_or_above(std::uintptr_t address) const {
    node *best = nullptr;
    for (node *n = root_; n;) {
        if (n->start >= address) {
            best = n;
            n = n->left;
        } else {
            n = n->right;
        }
    }
    return best;
}

bool range_map::contains(std::uintptr_t address) const {
    const node *n = find_at_or_below(address);
    return n && address < n->end;
}

// Makes sure that no range crosses the address.
void range_map::split_at(std::uintptr_t address) {
    node *n = find_at_or_below(address);
    if (!n || n->start == address || n->end <= address) return;
    node *upper = take_node();
    *upper = *n;
    upper->start = address;
    upper->left = upper->right = nullptr;
    upper->priority = next_priority();
    n->end = address;
    if (pinned_by(*upper)) pins_.grab(upper->owner);
    node *below;
    node *rest;
    split(root_, address, below, rest);
    root_ = join(join(below, upper), rest);
}

// Makes one range of two that meet at the address, if they are alike.
void range_map::coalesce_at(std::uintptr_t address) {
    node *low = address ? find_at_or_below(address - 1) : nullptr;
    node *high = find_at_or_below(address);
    if (!low || !high || low == high || low->end != address || high->start != address) return;
    if (low->owner != high->owner || low->state != high->state) return;
    node *below;
    node *rest;
    node *single;
    split(root_, address, below, rest);
    split(rest, address + 1, single, rest);
    low->end = single->end;
    root_ = join(below, rest);
    give_node(single);
}

void range_map::insert(const mapped_range &range) {
    node *n = take_node();
    static_cast<mapped_range &>(*n) = range;
    n->left = n->right = nullptr;
    n->priority = next_priority();
    if (pinned_by(*n)) pins_.grab(n->owner);
    paste(n, range.start, range.end);
}

range_map::node *range_map::cut(std::uintptr_t start, std::uintptr_t end) {
    split_at(start);
    split_at(end);
    node *below;
    node *middle;
    node *above;
    split(root_, start, below, middle);
    split(middle, end, middle, above);
    root_ = join(below, above);
    return middle;
}

void range_map::paste(node *ranges, std::uintptr_t start, std::uintptr_t end) {
    if (!ranges) return;
    node *below;
    node *above;
    split(root_, start, below, above);
    root_ = join(join(below, ranges), above);
    coalesce_at(start);
    coalesce_at(end);
}

void range_map::tidy(std::uintptr_t start, std::uintptr_t end) {
    for (std::uintptr_t at = start; at <= end;) {
        const node *next = find_at_or_above(at);
        if (!next || next->start > end) return;
        at = next->start + 1;
        coalesce_at(next->start);
    }
}

void range_map::drop(node *ranges) {
    if (!ranges) return;
    drop(ranges->left);
    node *right = ranges->right;
    give_node(ranges);
    drop(right);
}

void range_map::assign(node &range, std::uint32_t owner, range_state state) {
    const mapped_range was = range;
    range.owner = owner;
    range.state = state;
    if (pinned_by(range)) pins_.grab(owner);
    if (pinned_by(was)) pins_.put(was.owner);
}

void range_map::disown_all() { disown(root_); }

void range_map::forget_all() {
    root_ = nullptr;
    free_ = nullptr;
    free_count_ = 0;
}

void range_map::shift(node *ranges, std::intptr_t distance) {
    if (!ranges) return;
    ranges->start += static_cast<std::uintptr_t>(distance);
    ranges->end += static_cast<std::uintptr_t>(distance);
    shift(ranges->left, distance);
    shift(ranges->right, distance);
}

} // namespace allot
