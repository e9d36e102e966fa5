#include "accounting/text_sink.hpp"

#include "accounting/base/digits.hpp"

namespace allot {

text_sink &text_sink::text(const char *s) {
    while (*s != '\0') byte(*s++);
    return *this;
}

text_sink &text_sink::number(std::uint64_t value) { return text(digits(value).c_str()); }

text_sink &text_sink::left(const char *s, std::size_t width) {
    text(s);
    for (std::size_t n = text_width(s); n < width; ++n) byte(' ');
    return *this;
}

text_sink &text_sink::right(const char *s, std::size_t width) {
    for (std::size_t n = text_width(s); n < width; ++n) byte(' ');
    return text(s);
}

void text_sink::flush() {
    if (used_ != 0) take_(state_, buffer_, used_);
    used_ = 0;
}

std::size_t text_width(const char *s) {
    std::size_t width = 0;
    for (; *s != '\0'; ++s)
        if ((static_cast<unsigned char>(*s) & 0xc0) != 0x80) ++width;
    return width;
}

} // namespace allot
