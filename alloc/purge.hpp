// When free memory goes back to the system: what nobody has needed for a while.
//
// Time is cut into epochs of a quarter of the delay, ended by the first look after that. At the end of one, as much is due
// as was free and dirty throughout it: the least that there ever was. So a heap that breathes, freeing and taking the same
// memory again and again, keeps what it uses, and what is left alone goes within the delay: two epochs, each at most twice
// as long as it should be. No thread looks at the clock for it: whoever takes or frees units does, so a process that does
// neither keeps what it has until it does.
//
// There is a bound as well, so that a process which frees much and then does nothing keeps little: what lies free above it goes at
// once. Fresh units that are taken soon after show that it was too low, so it follows what a heap breathes, up to most_bound,
// and comes back as memory goes by the clock.
//
// It is arithmetic alone: no clock and no memory, so that a test can say what time it is.
// Threads: under the lock of page_source. Owner: page_source.
// Invariants: 1. What is due was free and dirty for a quarter of the delay at least, and what is retained is never due.
//   2. What is free and dirty and left alone for the whole delay is due at the first look after it.
//   3. The bound grows by no more than went above it and was wanted back, and never leaves its range.
#pragma once

#include <cstdint>

namespace allot {

inline constexpr std::uint64_t never_purge = ~std::uint64_t{0};

struct purge_settings {
    std::uint64_t delay_ms = 1000; // 0: at once; never_purge: only when asked, or above the bound of page_source
    std::uint32_t retain_units = 0;
};

class idle_memory {
public:
    // Before units are taken or freed: how many of the nr_dirty are to go back.
    std::uint32_t look(const purge_settings &settings, std::uint32_t nr_dirty, std::uint64_t now_ms) {
        std::uint64_t gap = now_ms - last_look_ms_;
        last_look_ms_ = now_ms;
        return now_ms < epoch_end_ms_ ? 0 : end_epoch(settings, nr_dirty, now_ms, gap);
    }
    // After units were freed: how many of the nr_dirty lie above the bound.
    std::uint32_t above_bound(const purge_settings &settings, std::uint32_t nr_dirty) {
        std::uint32_t bound = least_bound + raised_;
        if (nr_dirty <= bound || nr_dirty <= settings.retain_units) return 0;
        std::uint32_t stay = bound - bound / 4; // some room, or each unit that is freed would cost a call
        std::uint32_t due = nr_dirty - (stay > settings.retain_units ? stay : settings.retain_units);
        sent_away_ += due;
        return due;
    }
    // Units that are not dirty have been taken.
    void note_taken_fresh(std::uint32_t count) {
        if (sent_away_ != 0) want_back(count);
    }
    // Other settings: the epoch ends now.
    void restart() { epoch_end_ms_ = least_ = 0; }
    // Units that were free and dirty have been taken; so many are left.
    void note_taken(std::uint32_t nr_dirty) {
        if (nr_dirty < least_) least_ = nr_dirty;
    }

private:
    std::uint32_t end_epoch(const purge_settings &settings, std::uint32_t nr_dirty, std::uint64_t now_ms,
                            std::uint64_t gap);

    void want_back(std::uint32_t count);

    static constexpr std::uint32_t least_bound = 64, most_bound = 4096; // 16 MiB, 1 GiB
    std::uint32_t raised_ = 0;    // the bound less least_bound: all zero at the start costs no bytes of the library
    std::uint32_t sent_away_ = 0; // above the bound, lately: it halves each epoch
    std::uint64_t epoch_end_ms_ = 0, last_look_ms_ = 0;
    std::uint32_t least_ = 0; // of dirty free units since the epoch began
};

} // namespace allot
