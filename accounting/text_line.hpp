// A line of text built in place: what the library says is put together here and written at once.
//
// It exists because nothing in the library may allocate, and because a line written in pieces is torn by other threads'.
//
// Threads: one object, one thread. Owner: the caller, of the buffer. Cost: linear; no system call.
// Invariants: 1. The text is always terminated, and cut where the buffer ends.
#pragma once

#include <cstddef>
#include <cstdint>

namespace allot {

constexpr std::size_t text_length(const char *text) {
    std::size_t n = 0;
    while (text[n] != '\0') ++n;
    return n;
}

// Whether the first b_length bytes of b are the whole of a.
constexpr bool same_text(const char *a, const char *b, std::size_t b_length) {
    for (std::size_t i = 0; i < b_length; ++i)
        if (a[i] != b[i] || a[i] == '\0') return false;
    return a[b_length] == '\0';
}

class text_line {
public:
    text_line(char *out, std::size_t size) : out_(out), size_(size) { out_[0] = '\0'; }
    text_line &add(const char *text, std::size_t length) {
        for (std::size_t i = 0; i < length && used_ + 1 < size_; ++i) out_[used_++] = text[i];
        out_[used_] = '\0';
        return *this;
    }
    text_line &add(const char *text) { return add(text, text_length(text)); }
    text_line &add_number(std::uint64_t value) {
        char digits[20];
        std::size_t at = sizeof digits;
        do digits[--at] = static_cast<char>('0' + value % 10);
        while ((value /= 10) != 0);
        return add(digits + at, sizeof digits - at);
    }
    std::size_t length() const { return used_; }

private:
    char *out_;
    std::size_t size_;
    std::size_t used_ = 0;
};

} // namespace allot
