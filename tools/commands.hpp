// The commands that watch and steer a hierarchy whose processes run: one function each, in a file of its own.
//
// Threads: one. Owner: values.
// Invariants: 1. Those that only look (tree, top, ls, get, export, watch) do so in a copy of the file.
//             2. What cannot be done is one line on stderr, and the exit status says which kind it was (errors.hpp).
// Cost: see hierarchy_view.hpp.
#pragma once

#include <string>
#include <vector>

namespace allot {

inline constexpr char tree_synopsis[] = "allot tree [--json] [PATH]";
inline constexpr char top_synopsis[] = "allot top [-b] [-n N] [-d SECONDS] [PATH]";
inline constexpr char ls_synopsis[] = "allot ls [--json]";
inline constexpr char create_synopsis[] = "allot create PATH [FILE=VALUE]...";
inline constexpr char rm_synopsis[] = "allot rm PATH, or: allot rm --hierarchy NAME";
inline constexpr char get_synopsis[] = "allot get PATH FILE";
inline constexpr char set_synopsis_text[] = "allot set PATH FILE=VALUE...";
inline constexpr char reclaim_synopsis[] = "allot reclaim PATH SIZE";
inline constexpr char verify_synopsis[] = "allot verify [PATH]";
inline constexpr char export_synopsis[] = "allot export [--openmetrics] [--max-tenants N]";
inline constexpr char watch_synopsis[] = "allot watch [--json] [--interval SECONDS] [PATH]";

int tree_command(std::vector<std::string> arguments);
int top_command(std::vector<std::string> arguments);
int ls_command(std::vector<std::string> arguments);
int create_command(std::vector<std::string> arguments);
int rm_command(std::vector<std::string> arguments);
int get_command(std::vector<std::string> arguments);
int set_command(std::vector<std::string> arguments);
int reclaim_command(std::vector<std::string> arguments);
int verify_command(std::vector<std::string> arguments);
int export_command(std::vector<std::string> arguments);
int watch_command(std::vector<std::string> arguments);

} // namespace allot
