#include "accounting/file_text.hpp"

#include "accounting/base/digits.hpp"
#include "accounting/base/units.hpp"

namespace allot {

file_text &file_text::text(const char *s) {
    for (; *s != '\0'; ++s, ++length_)
        if (length_ < size_) buffer_[length_] = *s;
    return *this;
}

file_text &file_text::number(std::uint64_t value) { return text(digits(value).c_str()); }

file_text &file_text::signed_number(std::int64_t value) {
    if (value >= 0) return number(static_cast<std::uint64_t>(value));
    return text("-").number(std::uint64_t{0} - static_cast<std::uint64_t>(value));
}

file_text &file_text::limit_line(std::uint64_t bytes) {
    return bytes >= unlimited ? text("max\n") : number(bytes).text("\n");
}

void file_text::end() {
    if (size_ != 0) buffer_[length_ < size_ ? length_ : size_ - 1] = '\0';
}

} // namespace allot
