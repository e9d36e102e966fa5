#include "accounting/sizes.hpp"

namespace allot {
namespace {

__extension__ using wide = unsigned __int128;

constexpr char unit_letters[] = "KMGTPE";

constexpr bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n'; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Where we are in the text. Reading past the end gives '\0', which no rule accepts.
struct cursor {
    const char *at;
    const char *end;

    bool done() const { return at == end; }
    char peek() const { return at == end ? '\0' : *at; }
    void skip_spaces() {
        while (at != end && is_space(*at)) ++at;
    }
    // Consumes `word` (lower case) if the rest of the text is exactly it.
    bool rest_is(const char *word) const {
        const char *p = at;
        for (; *word != '\0'; ++word, ++p)
            if (p == end || lower(*p) != *word) return false;
        return p == end;
    }
};

// An unsigned decimal: whole + numerator / denominator. Eighteen digits of fraction are kept (a further digit is worth
// less than one byte of an exbibyte in ten); the ones after them are checked and dropped.
struct decimal {
    std::uint64_t whole = 0;
    std::uint64_t numerator = 0;
    std::uint64_t denominator = 1;
    size_error error = size_error::none;
};

decimal read_decimal(cursor &c) {
    decimal d;
    if (!is_digit(c.peek()) && !(c.peek() == '.' && c.end - c.at > 1 && is_digit(c.at[1]))) {
        d.error = c.peek() == '-' ? size_error::negative : size_error::not_a_number;
        return d;
    }
    for (; is_digit(c.peek()); ++c.at) {
        const wide next = wide{d.whole} * 10 + static_cast<unsigned>(c.peek() - '0');
        if (next >= unlimited) {
            d.error = size_error::too_large;
            return d;
        }
        d.whole = static_cast<std::uint64_t>(next);
    }
    if (c.peek() != '.') return d;
    ++c.at;
    if (!is_digit(c.peek())) {
        d.error = size_error::not_a_number;
        return d;
    }
    for (; is_digit(c.peek()); ++c.at) {
        if (d.denominator >= 1'000'000'000'000'000'000) continue;
        d.numerator = d.numerator * 10 + static_cast<unsigned>(c.peek() - '0');
        d.denominator *= 10;
    }
    return d;
}

struct unit_result {
    unsigned shift; // bytes = number << shift
    size_error error;
};

// One of nothing, B, K.., KiB... A decimal point needs a unit, which the caller checks.
unit_result read_unit(cursor &c) {
    const char letter = lower(c.peek());
    if (c.done() || is_space(c.peek()) || is_digit(c.peek())) return {0, size_error::none};
    if (letter == 'b') {
        ++c.at;
        return {0, size_error::none};
    }
    unsigned power = 0;
    for (unsigned i = 0; unit_letters[i] != '\0'; ++i)
        if (lower(unit_letters[i]) == letter) power = i + 1;
    if (power == 0) return {0, size_error::unknown_unit};
    ++c.at;
    // "1e9" is a number to many programs and an exbibyte and nine bytes to none: refused rather than guessed.
    if (letter == 'e' && (is_digit(c.peek()) || c.peek() == '+' || c.peek() == '-')) return {0, size_error::exponent};
    const char next = lower(c.peek());
    if (next == 'b') return {0, size_error::decimal_unit};
    if (next == 'i') {
        if (c.end - c.at < 2 || lower(c.at[1]) != 'b') return {0, size_error::unknown_unit};
        c.at += 2;
    }
    return {power * 10, size_error::none};
}

// floor(d * scale), or unlimited when it is that much or more.
std::uint64_t scaled_floor(const decimal &d, std::uint64_t scale) {
    const wide whole = wide{d.whole} * scale;
    const wide part = wide{d.numerator} * scale / d.denominator;
    return whole + part >= unlimited ? unlimited : static_cast<std::uint64_t>(whole + part);
}

size_result percentage(const decimal &d, const cursor &c, std::uint64_t base) {
    if (!c.done()) return {0, size_error::percent_in_a_sum};
    if (d.whole > 100 || (d.whole == 100 && d.numerator != 0)) return {0, size_error::over_100_percent};
    if (base == no_percent_base) return {0, size_error::percent_of_nothing};
    if (base >= unlimited) return {unlimited, size_error::none};
    // base < 2^62, whole <= 100, numerator < 10^18: each product stays below 2^128.
    const wide hundredths = wide{d.whole} * base + wide{d.numerator} * base / d.denominator;
    return {static_cast<std::uint64_t>(hundredths / 100), size_error::none};
}

size_result parse_sum(cursor c, std::uint64_t percent_base) {
    std::uint64_t sum = 0;
    unsigned previous_shift = 64; // larger than any: the first part may have any unit
    while (!c.done()) {
        const decimal number = read_decimal(c);
        if (number.error != size_error::none) return {0, number.error};
        if (c.peek() == '%') {
            ++c.at;
            if (previous_shift != 64) return {0, size_error::percent_in_a_sum};
            return percentage(number, c, percent_base);
        }
        const unit_result unit = read_unit(c);
        if (unit.error != size_error::none) return {0, unit.error};
        if (unit.shift == 0 && number.denominator != 1) return {0, size_error::fraction_of_a_byte};
        if (unit.shift >= previous_shift) return {0, size_error::unit_order};
        previous_shift = unit.shift;
        const std::uint64_t part = scaled_floor(number, std::uint64_t{1} << unit.shift);
        if (part >= unlimited - sum) return {0, size_error::too_large};
        sum += part;
        c.skip_spaces();
    }
    return {sum, size_error::none};
}

cursor trimmed(const char *text, std::size_t length) {
    cursor c{text, text + length};
    c.skip_spaces();
    while (c.at != c.end && is_space(c.end[-1])) --c.end;
    return c;
}

std::size_t length_of(const char *text) {
    std::size_t n = 0;
    while (text[n] != '\0') ++n;
    return n;
}

// Writes a number in decimal and returns the place after it.
char *put_number(char *out, std::uint64_t value) {
    char digits[20];
    unsigned n = 0;
    do digits[n++] = static_cast<char>('0' + value % 10);
    while ((value /= 10) != 0);
    while (n != 0) *out++ = digits[--n];
    return out;
}

const char *put_max(char *out) {
    out[0] = 'm', out[1] = 'a', out[2] = 'x', out[3] = '\0';
    return out;
}

} // namespace

size_result size_parse(const char *text, std::size_t length, std::uint64_t percent_base) {
    const cursor c = trimmed(text, length);
    if (c.done()) return {0, size_error::empty};
    if (c.rest_is("max") || c.rest_is("infinity")) return {unlimited, size_error::none};
    return parse_sum(c, percent_base);
}

size_result size_parse(const char *text, std::uint64_t percent_base) {
    return size_parse(text, length_of(text), percent_base);
}

bool size_is_percentage(const char *text) {
    const cursor c = trimmed(text, length_of(text));
    return !c.done() && c.end[-1] == '%' && size_parse(text, 1).error == size_error::none;
}

const char *size_error_hint(size_error error) {
    switch (error) {
    case size_error::none: return "it is a size";
    case size_error::empty: return "it is empty";
    case size_error::negative: return "a size is not negative; write max for no limit";
    case size_error::not_a_number: return "it is not a number with a unit";
    case size_error::exponent: return "an exponent is not understood; write the digits, or a unit such as 1G";
    case size_error::decimal_unit: return "KB, MB and the like mean 1000 to some and 1024 to others; write M or MiB";
    case size_error::unknown_unit: return "the unit is not known";
    case size_error::fraction_of_a_byte: return "a fraction needs a unit, as in 1.5M";
    case size_error::unit_order: return "the parts of a sum go from the larger unit to the smaller, as in 1G500M";
    case size_error::percent_in_a_sum: return "a percentage stands alone";
    case size_error::over_100_percent: return "it is more than 100%";
    case size_error::percent_of_nothing: return "there is nothing here to take a percentage of";
    case size_error::too_large: return "it is too large; write max for no limit";
    }
    return "it is not a size";
}

const char *format_bytes_exact(std::uint64_t bytes, char (&out)[size_text_bytes]) {
    if (bytes >= unlimited) return put_max(out);
    unsigned power = 0;
    while (bytes != 0 && power < 6 && bytes % 1024 == 0) {
        bytes /= 1024;
        ++power;
    }
    char *end = put_number(out, bytes);
    if (power != 0) *end++ = unit_letters[power - 1];
    *end = '\0';
    return out;
}

const char *format_bytes_rounded(std::uint64_t bytes, char (&out)[size_text_bytes]) {
    if (bytes >= unlimited) return put_max(out);
    unsigned power = 0;
    while (power < 6 && (bytes >> (10 * power)) >= 1024) ++power;
    if (power == 0) {
        *put_number(out, bytes) = '\0';
        return out;
    }
    // Tenths of the unit, rounded to nearest. 1023.96K would read 1024.0K: it is written in the next unit instead.
    const auto tenths_of = [bytes](unsigned p) {
        const wide unit = wide{1} << (10 * p);
        return static_cast<std::uint64_t>((wide{bytes} * 10 + unit / 2) / unit);
    };
    std::uint64_t tenths = tenths_of(power);
    if (tenths >= 10240 && power < 6) tenths = tenths_of(++power);
    char *end = put_number(out, tenths / 10);
    *end++ = '.';
    *end++ = static_cast<char>('0' + tenths % 10);
    *end++ = unit_letters[power - 1];
    *end = '\0';
    return out;
}

} // namespace allot
