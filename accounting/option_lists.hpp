// The settings that are lists: attribution rules, excluded programs, the tenants of a tree.
//
// They exist apart from the other settings because the command reads the same grammar from its arguments and must
// refuse what the library would ignore.
//
// Threads: one parser at a time. Owner: everything lies in the arena that is passed.
// Invariants: 1. An item that is not understood is left out and the others stand: one typo costs one rule.
// Cost: linear in the text, twice: once to count, once to fill.
#pragma once

#include "accounting/options.hpp"
#include "accounting/text_arena.hpp"

namespace allot {

// What is wrong with one item of a list, or nullptr when it is well formed. The text need not be terminated.
[[nodiscard]] const char *map_rule_error(const char *text, std::size_t length);
[[nodiscard]] const char *exclude_error(const char *text, std::size_t length);
[[nodiscard]] const char *tree_item_error(const char *text, std::size_t length);

// Told of each item that is left out, and why.
struct list_errors {
    void *state;
    void (*add)(void *state, const char *item, std::size_t length, const char *why);
};

void parse_map(const char *text, std::size_t length, text_arena &, options &, list_errors);
void parse_exclude(const char *text, std::size_t length, text_arena &, options &, list_errors);
void parse_tree(const char *text, std::size_t length, text_arena &, options &, list_errors);

// True: the first `length` bytes are a tenant path; see is_tenant_path().
[[nodiscard]] bool is_tenant_path(const char *path, std::size_t length);

} // namespace allot
