// A line of text, built without allocation and written with one write(2).
//
// It exists because what a broken heap or a refused charge has to say must not need the heap, stdio or locks.
//
// Threads: an object belongs to one thread, usually on its stack.
// Owner: the caller; nothing is kept.
// Invariants: the text is always terminated; what does not fit is cut, and the end of a cut line is "...".
// Cost: copies bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace allot {

class line_writer {
public:
    static constexpr std::size_t capacity = 1024;

    line_writer &text(const char *s);
    line_writer &text(const char *s, std::size_t length);
    // What others named, with '?' for what would upset a terminal or begin another line.
    line_writer &name(const char *s);
    line_writer &number(std::uint64_t value);
    line_writer &signed_number(std::int64_t value);
    line_writer &hexadecimal(std::uint64_t value); // with 0x before it
    void write(int fd = 2);                        // adds the newline

    const char *c_str() const { return buffer_; }
    std::size_t length() const { return length_; }

private:
    char buffer_[capacity] = {};
    std::size_t length_ = 0;
};

} // namespace allot
