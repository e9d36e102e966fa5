// Text of any length without allocation: a buffer of the caller's, handed on whenever it is full.
//
// It exists for reports, which are longer than a line and are written where there may be no heap to put them in.
//
// Threads: an object belongs to one thread. Owner: the caller, of the buffer and of what takes the text.
// Invariants: 1. What was put comes out once, in order, after flush().
// Cost: copies bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace allot {

class text_sink {
public:
    using taker = void(void *state, const char *text, std::size_t length);

    text_sink(char *buffer, std::size_t size, taker *take, void *state)
        : buffer_(buffer), size_(size), take_(take), state_(state) {}

    text_sink &byte(char c) {
        if (used_ == size_) flush();
        buffer_[used_++] = c;
        return *this;
    }
    text_sink &text(const char *s);
    text_sink &number(std::uint64_t value);
    // Filled up with spaces to a number of characters, behind the text or before it.
    text_sink &left(const char *s, std::size_t width);
    text_sink &right(const char *s, std::size_t width);
    void flush();

private:
    char *buffer_;
    std::size_t size_, used_ = 0;
    taker *take_;
    void *state_;
};

// Characters of UTF-8, not bytes. What is no UTF-8 counts as it comes.
[[nodiscard]] std::size_t text_width(const char *s);

} // namespace allot
