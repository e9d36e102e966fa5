// The tenants of a shared hierarchy: found and made by path, removed when nobody uses them, and walked.
//
// Threads: any of any attached process; no lock. Two processes that make the same tenant at once get the same node.
// Owner: the file. A node that was once made keeps its record, name and place for good; removed, it comes back under the same
//   name with its settings forgotten.
// Invariants: 1. A name is linked once below a parent: it is added to its chain by a compare-and-swap of the chain's head, by
//                who has looked through the chain from that very head.
//             2. A child's index is higher than its parent's.
//             3. A node is removed only while it has no living child and no account, and an account is opened only at a living
//                node: each side writes first and looks at the other's word then, seq_cst.
// Cost: a look-up is a chain of hashes for each name of the path.
#pragma once

#include "accounting/shared/layout.hpp"

#include <allot/stats.h>

#include <cstdint>

namespace allot::shared {

struct node_or_error {
    std::uint32_t node; // 0: none
    int error;          // then a negative errno
    bool is_new;        // the call made it, or brought it back
};

// The first node of a fresh file; by attach() alone.
[[nodiscard]] bool make_root();

// A living child. -ENOENT; of node_make also -EINVAL (no name), -ENAMETOOLONG, -ENOSPC (too deep), -EAGAIN
// (cgroup.max.descendants, or another process has been stopped amid bringing it back), -ENOMEM (no room).
[[nodiscard]] node_or_error node_child(std::uint32_t parent, const char *name, std::uint64_t length);
[[nodiscard]] node_or_error node_make_child(std::uint32_t parent, const char *name, std::uint64_t length);
// By path, "/" is the root. node_make makes what is missing, and says of the last one whether it is new.
[[nodiscard]] node_or_error node_open(const char *path);
[[nodiscard]] node_or_error node_make(const char *path);
// To be called after writing down what keeps it (an account, a process of its own, a child): false, it is not living any more,
// and it must be taken back. A removal that is not done yet is ended by this.
[[nodiscard]] bool node_hold(std::uint32_t node);
// What a dead process was amid: finishes or undoes it.
void nodes_repair(std::uint32_t tag);
// Puts nr_contexts of the node and all above right, after a death, from what accounts have.
void nodes_recount_contexts(std::uint32_t node);
// 0; -EBUSY: the root, or it has children, or processes of their own tenant or charges are there; -ENOENT.
[[nodiscard]] int node_remove(std::uint32_t node);

[[nodiscard]] inline bool is_living(const node &n) {
    return node_state_in(n.identity.load(std::memory_order_acquire)) == node_state::living;
}
// Living nodes from `from` on, by index: 0 at the end. Parents have lower indices than the children made below them.
[[nodiscard]] std::uint32_t next_living(std::uint32_t from);

// "/" or "/a/b", cut to fit, terminated; the length of the whole.
std::uint64_t write_node_path(std::uint32_t node, char *buffer, std::uint64_t size);

// Counted at the node and all above.
void node_count_event(std::uint32_t node, allot_event event);

} // namespace allot::shared
