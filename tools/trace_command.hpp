// `allot trace FILE...`: what a trace says, in sum or record by record.
//
// Threads: one. Owner: none. Cost: reads the files once.
#pragma once

#include "tools/trace_summary.hpp"

#include <string>
#include <vector>

namespace allot {

inline constexpr char trace_synopsis[] = "allot trace [--json | --records] FILE...";

// One object on one line; keys are added, never changed.
[[nodiscard]] std::string trace_as_json(const trace_reader &, const trace_summary &);
// `name` stands at the top.
[[nodiscard]] std::string trace_as_text(const std::string &name, const trace_reader &, const trace_summary &);
// "0.000123 12/4711 alloc 0x7f0010 100 112 /web": seconds since the first record, process and thread, bytes asked for and used.
[[nodiscard]] std::string trace_line(const trace_event &, const trace_reader &, std::uint64_t begin);

int trace_command(std::vector<std::string> arguments);

} // namespace allot
