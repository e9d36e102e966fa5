// The rules that say to which tenant a thread, a program or a library belongs: `--map thread:GLOB=PATH`, `exe:GLOB=PATH`,
// `lib:GLOB=PATH`.
//
// Threads: any, once options can be read. Owner: the options own the texts.
// Invariants: the first rule that matches decides; a rule that cannot be followed (no such tenant can be made) is as if
//   it were not there, and one warning says so.
// Cost: without rules one load; else a match per rule, and the creation of the tenant the first time.
#pragma once

#include "accounting/options.hpp"

struct allot_tenant;

namespace allot {

// Whether there are rules of a kind; false also where nothing is counted.
[[nodiscard]] bool map_rules_exist(map_kind kind);

// The tenant that the rules of a kind give to a name; nullptr: none of them matches.
[[nodiscard]] allot_tenant *map_rules_tenant(map_kind kind, const char *name);

// That of one rule; nullptr: it is of another kind, or cannot be followed.
[[nodiscard]] allot_tenant *map_rules_tenant_of(map_kind kind, std::uint32_t index);

} // namespace allot
