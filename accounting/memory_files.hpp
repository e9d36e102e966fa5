// The files of a tenant whose names begin with "memory.": figures, limits, events, what a refusal leads to.
//
// Threads: readers under the registry lock, writers under drain lock and registry lock; see tenant_files.hpp.
// Owner: nobody.
// Invariants: formats are cgroup v2's, byte for byte, where the kernel has the file; a write that is refused changes
//   nothing.
// Cost: a walk over the contexts of the subtree for memory.current and memory.stat; else a few loads.
#pragma once

#include "accounting/file_text.hpp"

#include <cstdint>

struct allot_tenant;

namespace allot {

struct tenant;

void get_current(const tenant &, file_text &);
void get_peak(const tenant &, file_text &);
int reset_peak(tenant &, const char *); // whatever is written: the highest usage from now on
void get_min(const tenant &, file_text &);
int set_min(tenant &, const char *);
void get_low(const tenant &, file_text &);
int set_low(tenant &, const char *);
void get_high(const tenant &, file_text &);
int set_high(tenant &, const char *);
void get_max(const tenant &, file_text &);
int set_max(tenant &, const char *);
void get_headroom(const tenant &, file_text &);
int set_headroom(tenant &, const char *);
void get_events(const tenant &, file_text &);
void get_events_local(const tenant &, file_text &);
int ask_stat(allot_tenant *, file_text &); // without locks
void get_numa_stat(const tenant &, file_text &);
void get_oom_group(const tenant &, file_text &);
int set_oom_group(tenant &, const char *);
void get_oom_policy(const tenant &, file_text &);
int set_oom_policy(tenant &, const char *);
void get_failures(const tenant &, file_text &);
int set_failures(tenant &, const char *);

// --- of use to other files too ---------------------------------------------------------------------------------------
// A size as a write gives it. Percentages are of the parent's max, or of RAM where there is none.
[[nodiscard]] bool parse_tenant_size(const tenant &t, const char *value, std::uint64_t &bytes);
// Spaces, tabs and newlines around what is written are ignored, as by the kernel.
[[nodiscard]] const char *after_blanks(const char *value);
// Whether value is the word, blanks apart; of an empty word, whether it is blank.
[[nodiscard]] bool is_word(const char *value, const char *word);
// Decimal digits up to the end, or up to `end`, which becomes where they stopped.
[[nodiscard]] bool parse_number(const char *value, std::uint64_t &number, const char *&end);

} // namespace allot
