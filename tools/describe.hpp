// `allot describe`: the tables of options, statistics and events, as text, Markdown or JSON.
//
// It exists so that no document repeats a table: README.md's are what this prints, and a test holds them together.
//
// Threads: one. Owner: values. Cost: none that matters.
#pragma once

#include <string>
#include <vector>

namespace allot {

inline constexpr char describe_synopsis[] = "allot describe [--markdown|--json] [TABLE]...";

enum class description_format { text, markdown, json };

// Names of tables: options, statistics, events. `tables` empty: all of them.
[[nodiscard]] std::string describe(description_format, const std::vector<std::string> &tables);

int describe_command(std::vector<std::string> arguments);

} // namespace allot
