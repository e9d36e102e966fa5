#include "tools/text_table.hpp"

#include "accounting/sizes.hpp"
#include "accounting/text_sink.hpp"

#include <algorithm>

namespace allot {

namespace {

// The length of the UTF-8 character at `at`; 0: there is none.
std::size_t character_at(const std::string &s, std::size_t at) {
    const auto byte = [&](std::size_t i) { return at + i < s.size() ? static_cast<unsigned char>(s[at + i]) : 0U; };
    const unsigned lead = byte(0);
    if (lead < 0x80) return 1;
    if (lead < 0xc2 || lead > 0xf4) return 0;
    const std::size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    const unsigned least = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    const unsigned most = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    for (std::size_t i = 1; i < length; ++i)
        if (i == 1 ? byte(i) < least || byte(i) > most : (byte(i) & 0xc0) != 0x80) return 0;
    return length;
}

bool is_control(const std::string &s, std::size_t at, std::size_t length) {
    const auto byte = static_cast<unsigned char>(s[at]);
    // C0, DEL, and C1 in two bytes.
    return length == 1 ? byte < 0x20 || byte == 0x7f
                       : length == 2 && byte == 0xc2 && static_cast<unsigned char>(s[at + 1]) < 0xa0;
}

} // namespace

std::string shown(const std::string &name) {
    std::string text;
    for (std::size_t at = 0; at < name.size();) {
        const std::size_t length = character_at(name, at);
        if (length == 0 || is_control(name, at, length))
            text += '?';
        else
            text += name.substr(at, length);
        at += std::max<std::size_t>(length, 1);
    }
    return text;
}

std::size_t columns_of(const std::string &text) { return text_width(text.c_str()); }

std::string fitted(const std::string &text, std::size_t columns) {
    std::string out;
    std::size_t used = 0;
    for (std::size_t at = 0; at < text.size() && used < columns; ++used) {
        const std::size_t length = std::max<std::size_t>(character_at(text, at), 1);
        out += text.substr(at, length);
        at += length;
    }
    return out.append(columns - used, ' ');
}

std::vector<std::string> table_lines(const std::vector<std::string> &headings,
                                     const std::vector<std::vector<std::string>> &rows) {
    std::vector<std::size_t> widths;
    for (const std::string &heading : headings) widths.push_back(columns_of(heading));
    for (const auto &row : rows)
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns_of(row[i]));
    const auto line_of = [&widths](const std::vector<std::string> &row) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::string blanks(widths[i] - columns_of(row[i]), ' ');
            line += i == 0 ? row[i] + blanks : "  " + blanks + row[i];
        }
        line.erase(line.find_last_not_of(' ') + 1);
        return line;
    };
    std::vector<std::string> lines{line_of(headings)};
    for (const auto &row : rows) lines.push_back(line_of(row));
    return lines;
}

std::string bytes_text(std::uint64_t bytes) {
    char text[size_text_bytes];
    return format_bytes_rounded(bytes, text);
}

std::string limit_text(std::uint64_t bytes) {
    char text[size_text_bytes];
    const std::string exact = format_bytes_exact(bytes, text);
    constexpr std::size_t short_enough = 6;
    return exact.size() <= short_enough ? exact : format_bytes_rounded(bytes, text);
}

} // namespace allot
