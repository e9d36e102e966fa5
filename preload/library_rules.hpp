// Libraries by name: what code of a library allocates whose file name matches a rule is charged to that rule's tenant,
// `--map lib:GLOB=PATH`.
//
// It exists because a plugin runs on its host's threads: nothing but the code that asks tells them apart. A caller is found by its
// return address (alloc/callers.hpp); the loader knows which library that lies in, and answers without a lock (_dl_find_object).
// A library's name is the last part of the name that it was opened by.
//
// Threads: any. Owner: the process. Invariants: 1. Without such rules nothing here runs. 2. The tenants of the rules are there from
//   the start. 3. The loader asks our calloc for a record before it maps a library, and it maps none where another one may still
//   run: so an address is another library's only after a call of the loader's, which is noticed (asked_by_loader).
// Cost: one search for each call site of each thread, and again after each call of the loader.
#pragma once

#include <cstdint>

namespace allot {

// At the start of the process, in its first thread.
void library_rules_start();

// The number of the rule for code at an address: see caller_rules.
[[nodiscard]] std::uint32_t library_rule_of(const void *address);

} // namespace allot
