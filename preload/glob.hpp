// Shell patterns for names: * ? [set] [!set] and \ before a character that stands for itself.
//
// It exists because fnmatch follows the locale and may allocate. A name is one word: * matches every character.
//
// Threads: any. Cost: at most the product of both lengths; no recursion, no allocation.
#pragma once

namespace allot {

// A [ without its ] stands for itself.
[[nodiscard]] bool glob_match(const char *pattern, const char *text);

} // namespace allot
