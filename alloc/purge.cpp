#include "alloc/purge.hpp"

namespace allot {

void idle_memory::want_back(std::uint32_t count) {
    std::uint32_t wanted = count < sent_away_ ? count : sent_away_;
    sent_away_ -= wanted;
    raised_ = raised_ + wanted < most_bound - least_bound ? raised_ + wanted : most_bound - least_bound;
}

std::uint32_t idle_memory::end_epoch(const purge_settings &settings, std::uint32_t nr_dirty, std::uint64_t now_ms,
                                     std::uint64_t gap) {
    if (settings.delay_ms == never_purge) return 0;
    // Where nobody has looked for so long, nobody has taken or freed anything either.
    std::uint32_t idle = gap >= settings.delay_ms / 4 ? nr_dirty : least_ < nr_dirty ? least_ : nr_dirty;
    std::uint32_t due = idle > settings.retain_units ? idle - settings.retain_units : 0;
    least_ = nr_dirty - due;
    raised_ = raised_ > due ? raised_ - due : 0;
    sent_away_ = gap >= settings.delay_ms ? 0 : sent_away_ / 2;
    epoch_end_ms_ = now_ms + settings.delay_ms / 4;
    return due;
}

} // namespace allot
