// `allot doctor`: whether a program can be limited, or without one, whether this machine can limit programs.
//
// Threads: one. Owner: values. Cost: as judge_program().
#pragma once

#include "tools/program.hpp"

#include <string>
#include <vector>

namespace allot {

inline constexpr char doctor_synopsis[] = "allot doctor [COMMAND [ARG]...]";

// What is printed about a program, several lines.
[[nodiscard]] std::string verdict_text(const std::string &command, const program_verdict &);

int doctor_command(std::vector<std::string> arguments);

} // namespace allot
