#include "tools/figures.hpp"

#include <algorithm>

namespace allot {

bool comes_before(const std::string &a, const std::string &b) {
    // As if the slash were the least of all bytes: else "/a-b" would stand between "/a" and "/a/c".
    const auto rank = [](char c) { return c == '/' ? 0 : 1 + static_cast<unsigned char>(c); };
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                        [&](char x, char y) { return rank(x) < rank(y); });
}

bool is_at_or_below(const std::string &path, const std::string &top) {
    return top == "/" || path == top || (path.starts_with(top) && path[top.size()] == '/');
}

const char *word_of(process_life state) {
    switch (state) {
    case process_life::running: return "running";
    case process_life::stopped: return "stopped";
    case process_life::exited: return "exited";
    case process_life::ended: break;
    }
    return "ended";
}

} // namespace allot
