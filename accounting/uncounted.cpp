#include "accounting/uncounted.hpp"

#include "accounting/region.hpp"
#include "accounting/shared/file.hpp"
#include "accounting/shared/members.hpp"

namespace allot {

uncounted_bytes &uncounted() {
    return shared::this_member != 0 ? shared::member_at(shared::this_member).uncounted : region().uncounted;
}

void note_uncounted(std::int64_t bytes) {
    if (!region_is_mapped()) return;
    uncounted_bytes &of = uncounted();
    std::uint64_t before = of.now.load(std::memory_order_relaxed);
    std::uint64_t after;
    do {
        const bool fits = bytes >= 0 || before >= static_cast<std::uint64_t>(-bytes);
        after = fits ? before + static_cast<std::uint64_t>(bytes) : 0;
    } while (!of.now.compare_exchange_weak(before, after, std::memory_order_relaxed));
    std::uint64_t peak = of.peak.load(std::memory_order_relaxed);
    while (peak < after && !of.peak.compare_exchange_weak(peak, after, std::memory_order_relaxed)) continue;
}

} // namespace allot
