// Where the preload library is, and what LD_PRELOAD has to be for it to come first.
//
// It exists because the command must work from a build tree and installed, without a configured path.
//
// Threads: one. Owner: values. Cost: a few stat calls.
#pragma once

#include <string>

namespace allot {

// The library of ALLOT_PRELOAD_LIBRARY, else the one that lies beside this executable. Throws `failure` with the places
// that were looked at, or when its path cannot stand in LD_PRELOAD.
[[nodiscard]] std::string find_preload_library();

// The same, beside an executable in `folder`; empty when there is none.
[[nodiscard]] std::string preload_library_beside(const std::string &folder);

// Puts `library` before what `existing` (may be empty) preloads already; once, if it is there.
[[nodiscard]] std::string preload_first(const std::string &library, const std::string &existing);

} // namespace allot
