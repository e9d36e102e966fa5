#include "accounting/pressure.hpp"

namespace allot {

namespace {

// --- the word ---------------------------------------------------------------------------------------------------------

constexpr std::uint32_t us_bits = 48;
constexpr std::uint64_t us_mask = (std::uint64_t{1} << us_bits) - 1;
constexpr std::uint64_t all_bit = std::uint64_t{1} << us_bits;
constexpr std::uint32_t count_shift = us_bits + 1;
constexpr std::uint64_t count_max = (std::uint64_t{1} << (64 - count_shift)) - 1;

struct state {
    std::uint64_t stalled;
    bool all;
    std::uint64_t since_us;
};
constexpr state state_of(std::uint64_t word) { return {word >> count_shift, (word & all_bit) != 0, word & us_mask}; }
constexpr std::uint64_t word_of(state s) {
    return s.stalled << count_shift | (s.all ? all_bit : 0) | (s.since_us & us_mask);
}

// --- averages ---------------------------------------------------------------------------------------------------------

// exp(-2 s / 10, 60, 300 s) * 2^32: what is left of an average after a period.
constexpr std::uint64_t kept[nr_pressure_averages] = {3'516'421'809, 4'154'161'520, 4'266'429'413};
constexpr std::uint64_t kept_one = std::uint64_t{1} << 32;

// kept ^ periods, by squaring: a tenant may have been quiet for a week.
std::uint64_t kept_after(std::uint64_t factor, std::uint64_t periods) {
    std::uint64_t product = kept_one;
    for (; periods != 0; periods >>= 1) {
        if ((periods & 1) != 0) product = product * factor >> 32;
        factor = factor * factor >> 32;
    }
    return product;
}

std::uint32_t moved(std::uint32_t average, std::uint32_t sample, std::uint64_t keep) {
    auto apart = static_cast<std::int64_t>(average) - static_cast<std::int64_t>(sample);
    constexpr std::int64_t half = std::int64_t{1} << 31;
    auto left = (apart * static_cast<std::int64_t>(keep) + (apart < 0 ? -half : half)) / (std::int64_t{1} << 32);
    return static_cast<std::uint32_t>(static_cast<std::int64_t>(sample) + left);
}

void move_averages(pressure_line &line, std::uint32_t sample, std::uint64_t periods) {
    if (periods == 0) return;
    for (std::uint32_t a = 0; a < nr_pressure_averages; ++a) {
        std::uint32_t average = line.average[a].load(std::memory_order_relaxed);
        line.average[a].store(moved(average, sample, kept_after(kept[a], periods)), std::memory_order_relaxed);
    }
}

std::uint32_t sample_of(std::uint64_t stalled_us) {
    if (stalled_us >= pressure_period_us) return pressure_one;
    return static_cast<std::uint32_t>(stalled_us * pressure_one / pressure_period_us);
}

// --- a stretch of time that ends now, of which the last part was a stall ------------------------------------------------

struct stretch {
    std::uint64_t stall_begins_us, ends_us;

    std::uint64_t stalled_in(std::uint64_t begin, std::uint64_t end) const {
        std::uint64_t from = stall_begins_us > begin ? stall_begins_us : begin;
        std::uint64_t to = ends_us < end ? ends_us : end;
        return to > from ? to - from : 0;
    }
    std::uint64_t stalled_in_period(std::uint64_t p) const {
        return stalled_in(p * pressure_period_us, (p + 1) * pressure_period_us);
    }
};

// The averages of the periods that are over since they were made last.
void make_averages(pressure_line &line, const stretch &last) {
    std::uint64_t now = last.ends_us / pressure_period_us;
    std::uint64_t done = line.period.load(std::memory_order_relaxed);
    if (now <= done || !line.period.compare_exchange_strong(done, now, std::memory_order_relaxed)) return;
    std::uint64_t total = line.total.load(std::memory_order_relaxed);
    std::uint64_t at_period = line.total_at_period.load(std::memory_order_relaxed);
    std::uint64_t before = total > at_period ? total - at_period : 0;
    move_averages(line, sample_of(before + last.stalled_in_period(done)), 1);
    // Of the periods in between, those before the stall's begin are quiet, those behind it are stalled throughout.
    std::uint64_t begins = last.stall_begins_us / pressure_period_us;
    if (begins <= done) begins = done; // all of them are behind it
    if (begins > now) begins = now;
    if (begins > done) {
        move_averages(line, 0, begins - done - 1);
        if (begins < now) move_averages(line, sample_of(last.stalled_in_period(begins)), 1);
    }
    if (begins < now) move_averages(line, pressure_one, now - begins - 1);
    std::uint64_t until_now = last.stalled_in(0, now * pressure_period_us);
    line.total_at_period.store(total + until_now, std::memory_order_relaxed);
}

void count(pressure_line &line, std::uint64_t now_us, std::uint64_t stalled_us) {
    make_averages(line, {now_us - stalled_us, now_us});
    if (stalled_us != 0) line.total.fetch_add(stalled_us, std::memory_order_relaxed);
}

// --- changes ----------------------------------------------------------------------------------------------------------

enum class change { none, one_more, one_less };

state after(state s, change c, std::uint32_t nr_threads, std::uint64_t now_us) {
    if (c == change::one_more && s.stalled < count_max) ++s.stalled;
    if (c == change::one_less && s.stalled > 0) --s.stalled;
    if (c != change::none) s.all = s.stalled != 0 && s.stalled >= nr_threads;
    s.since_us = now_us;
    return s;
}

void make_change(pressure &p, std::uint64_t now_us, change c, std::uint64_t past_us, std::uint32_t nr_threads) {
    std::uint64_t seen = p.word.load(std::memory_order_acquire);
    state was;
    std::uint64_t now;
    do {
        was = state_of(seen);
        now = now_us > was.since_us ? now_us : was.since_us; // two threads may read the clock and come here in reverse
    } while (!p.word.compare_exchange_weak(seen, word_of(after(was, c, nr_threads, now)), std::memory_order_acq_rel));
    std::uint64_t length = now - was.since_us;
    std::uint64_t past = past_us < length ? past_us : length;
    bool past_was_all = was.stalled + 1 >= nr_threads;
    count(p.some, now, was.stalled != 0 ? length : past);
    count(p.full, now, was.all ? length : past_was_all ? past : 0);
}

} // namespace

void pressure_begin(pressure &p, std::uint64_t now_us, std::uint32_t nr_threads) {
    make_change(p, now_us, change::one_more, 0, nr_threads);
}
void pressure_end(pressure &p, std::uint64_t now_us, std::uint32_t nr_threads) {
    make_change(p, now_us, change::one_less, 0, nr_threads);
}
void pressure_past(pressure &p, std::uint64_t now_us, std::uint64_t stalled_us, std::uint32_t nr_threads) {
    make_change(p, now_us, change::none, stalled_us, nr_threads);
}
void pressure_bring_up_to(pressure &p, std::uint64_t now_us) { make_change(p, now_us, change::none, 0, 0); }

std::uint32_t pressure_stalled(const pressure &p) {
    return static_cast<std::uint32_t>(state_of(p.word.load(std::memory_order_relaxed)).stalled);
}

// --- the text ---------------------------------------------------------------------------------------------------------

namespace {

void write_line(const char *name, const pressure_line &line, file_text &out) {
    out.text(name);
    for (std::uint32_t a = 0; a < nr_pressure_averages; ++a) {
        std::uint64_t average = line.average[a].load(std::memory_order_relaxed);
        std::uint64_t hundredths = (average * 10'000 + pressure_one / 2) / pressure_one; // of a percent
        out.text(" avg").number(pressure_seconds[a]).text("=").number(hundredths / 100).text(".");
        if (hundredths % 100 < 10) out.text("0");
        out.number(hundredths % 100);
    }
    out.text(" total=").number(line.total.load(std::memory_order_relaxed)).text("\n");
}

} // namespace

void pressure_write(const pressure &p, file_text &out) {
    write_line("some", p.some, out);
    write_line("full", p.full, out);
}

} // namespace allot
