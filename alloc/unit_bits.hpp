// One bit a unit, and the searches that page_source makes among them, a word at a time.
//
// Threads: under the lock of page_source. Owner: page_source, in zero-initialised memory that is touched as the arena grows.
// Invariants: unit 0 is in no set, so 0 stands for "none" where a unit is returned.
#pragma once

#include "alloc/arena.hpp"

#include <bit>
#include <cstdint>

namespace allot {

class unit_bits {
public:
    bool test(std::uint32_t i) const { return (words_[i / word_bits] >> (i % word_bits) & 1) != 0; }
    void set(std::uint32_t first, std::uint32_t count) {
        each_word(first, count, [](std::uint64_t &word, std::uint64_t mask) { word |= mask; });
    }
    void clear(std::uint32_t first, std::uint32_t count) {
        each_word(first, count, [](std::uint64_t &word, std::uint64_t mask) { word &= ~mask; });
    }
    void clear_all(std::uint32_t end) {
        for (std::uint32_t w = 0; w * word_bits < end; ++w) words_[w] = 0;
    }

    // The first in [from, end) that is set, or clear; end: none.
    std::uint32_t next_set(std::uint32_t from, std::uint32_t end) const {
        return next(from, end, [this](std::uint32_t w) { return words_[w]; });
    }
    std::uint32_t next_clear(std::uint32_t from, std::uint32_t end) const {
        return next(from, end, [this](std::uint32_t w) { return ~words_[w]; });
    }
    // The same for what is in both; end: none.
    static std::uint32_t next_of_both(const unit_bits &a, const unit_bits &b, std::uint32_t from, std::uint32_t end) {
        return next(from, end, [&](std::uint32_t w) { return a.words_[w] & b.words_[w]; });
    }
    // Behind the last in [from, end) that is in both; 0: none.
    static std::uint32_t behind_last_of_both(const unit_bits &a, const unit_bits &b, std::uint32_t from,
                                             std::uint32_t end) {
        return behind_last(from, end, [&](std::uint32_t w) { return a.words_[w] & b.words_[w]; });
    }
    // The first unit from which on all up to `end`, at least end - 1, are in both; not below `from`.
    static std::uint32_t start_of_both(const unit_bits &a, const unit_bits &b, std::uint32_t from, std::uint32_t end) {
        std::uint32_t start = behind_last(from, end, [&](std::uint32_t w) { return ~(a.words_[w] & b.words_[w]); });
        return start == 0 ? from : start;
    }

private:
    static constexpr std::uint32_t word_bits = 64;

    template<typename Change>
    void each_word(std::uint32_t first, std::uint32_t count, Change change) {
        for (std::uint32_t end = first + count; first < end;) {
            std::uint32_t at = first % word_bits, here = word_bits - at;
            if (here > end - first) here = end - first;
            change(words_[first / word_bits], (~std::uint64_t{0} >> (word_bits - here)) << at);
            first += here;
        }
    }
    template<typename Word>
    static std::uint32_t next(std::uint32_t from, std::uint32_t end, Word word_at) {
        if (from >= end) return end;
        std::uint32_t w = from / word_bits;
        std::uint64_t word = word_at(w) & ~std::uint64_t{0} << (from % word_bits);
        while (word == 0) {
            if (++w * word_bits >= end) return end;
            word = word_at(w);
        }
        std::uint32_t found = w * word_bits + static_cast<std::uint32_t>(std::countr_zero(word));
        return found < end ? found : end;
    }
    template<typename Word>
    static std::uint32_t behind_last(std::uint32_t from, std::uint32_t end, Word word_at) {
        if (from >= end) return 0;
        std::uint32_t w = (end - 1) / word_bits;
        std::uint64_t word = word_at(w) & ~std::uint64_t{0} >> (word_bits - 1 - (end - 1) % word_bits);
        while (word == 0) {
            if (w * word_bits <= from) return 0;
            word = word_at(--w);
        }
        std::uint32_t behind = w * word_bits + word_bits - static_cast<std::uint32_t>(std::countl_zero(word));
        return behind > from ? behind : 0;
    }

    std::uint64_t words_[arena_max_units / word_bits];
};

} // namespace allot
