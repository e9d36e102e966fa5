// A number as decimal digits, for those who put texts together without a heap.
//
// Threads: an object belongs to one thread. Owner: the object owns its text. Cost: a division a digit.
// Invariants: 1. The text is terminated.
#pragma once

#include <cstddef>
#include <cstdint>

namespace allot {

class digits {
public:
    explicit constexpr digits(std::uint64_t value) {
        do {
            text_[--first_] = static_cast<char>('0' + value % 10);
            value /= 10;
        } while (value != 0);
    }
    [[nodiscard]] constexpr const char *c_str() const { return text_ + first_; }
    [[nodiscard]] constexpr std::size_t length() const { return longest - first_; }

private:
    static constexpr std::size_t longest = 20;
    char text_[longest + 1] = {};
    std::size_t first_ = longest;
};

} // namespace allot
