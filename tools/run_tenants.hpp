// The tenants of a run and their limits, made in the hierarchy's file before the command starts.
//
// They are made by the command, so that they are there, and a wrong one is told, before anything runs. Processes find the same
// settings in their environment, for where they cannot join and keep private books.
//
// Threads: one. Owner: the file that is attached. Cost: a look-up for each setting.
#pragma once

#include <string>
#include <vector>

namespace allot {

// By the variables of the library in it. Throws `failure`.
void make_tenants_of(const std::vector<std::string> &environment);

} // namespace allot
