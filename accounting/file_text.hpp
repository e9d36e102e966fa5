// The text of a tenant's file, written into the buffer of whoever reads it, however long it is.
//
// It exists so that a long text (every thread of a program) needs neither a heap nor a second buffer: what does not fit is
// counted and left out, as snprintf does.
//
// Threads: an object belongs to one thread. Owner: the caller, of the buffer.
// Invariants: 1. length() is that of the whole text, whatever the buffer's size.
//             2. The buffer is terminated by end(), and never written to beyond its size.
// Cost: copies bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace allot {

class file_text {
public:
    file_text(char *buffer, std::size_t size) : buffer_(buffer), size_(size) {}

    file_text &text(const char *s);
    file_text &number(std::uint64_t value);
    file_text &signed_number(std::int64_t value);
    // A line of a flat-keyed file.
    file_text &line(const char *key, std::uint64_t value) { return text(key).text(" ").number(value).text("\n"); }
    // "max" for no limit, and a newline.
    file_text &limit_line(std::uint64_t bytes);
    void end();

    [[nodiscard]] std::size_t length() const { return length_; }

private:
    char *buffer_;
    std::size_t size_, length_ = 0;
};

} // namespace allot
