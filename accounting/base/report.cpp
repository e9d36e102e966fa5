#include "accounting/base/report.hpp"

#include "accounting/base/digits.hpp"
#include "accounting/base/os.hpp"

namespace allot {

line_writer &line_writer::text(const char *s, std::size_t length) {
    constexpr std::size_t room = capacity - 2; // for the newline and the zero
    for (std::size_t i = 0; i < length; ++i) {
        if (length_ == room) {
            for (std::size_t back = 1; back <= 3; ++back) buffer_[room - back] = '.';
            break;
        }
        buffer_[length_++] = s[i];
    }
    buffer_[length_] = '\0';
    return *this;
}

line_writer &line_writer::text(const char *s) {
    std::size_t length = 0;
    while (s[length] != '\0') ++length;
    return text(s, length);
}

line_writer &line_writer::name(const char *s) {
    for (; *s != '\0'; ++s) {
        const auto c = static_cast<unsigned char>(*s);
        text(c < 0x20 || c == 0x7f ? "?" : s, 1);
    }
    return *this;
}

line_writer &line_writer::number(std::uint64_t value) { return text(digits(value).c_str()); }

line_writer &line_writer::signed_number(std::int64_t value) {
    if (value >= 0) return number(static_cast<std::uint64_t>(value));
    return text("-").number(std::uint64_t{0} - static_cast<std::uint64_t>(value));
}

line_writer &line_writer::hexadecimal(std::uint64_t value) {
    char digits[16];
    std::size_t at = sizeof digits;
    do {
        digits[--at] = "0123456789abcdef"[value % 16];
        value /= 16;
    } while (value != 0);
    return text("0x").text(digits + at, sizeof digits - at);
}

void line_writer::write(int fd) {
    buffer_[length_] = '\n';
    os_write_all(fd, buffer_, length_ + 1);
    buffer_[length_] = '\0';
}

} // namespace allot
