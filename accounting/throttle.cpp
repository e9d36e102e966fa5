#include "accounting/throttle.hpp"

#include "accounting/base/ratio.hpp"
#include "accounting/base/units.hpp"

namespace allot {

namespace {

constexpr std::uint32_t overage_shift = 20;
// Beyond 16 times high the delay has long reached its bound, for a page as for a batch.
constexpr std::uint64_t overage_max = std::uint64_t{16} << overage_shift;
// Of the square of the overage, 1 being 2^40: 64 seconds for twice the limit.
constexpr std::uint32_t square_shift = 34;

} // namespace

std::uint64_t overage_of(std::uint64_t usage, std::uint64_t high) {
    if (usage <= high) return 0;
    std::uint64_t over = ratio_floor(usage - high, std::uint64_t{1} << overage_shift, high == 0 ? 1 : high);
    return over < overage_max ? over : overage_max;
}

std::uint64_t throttle_ms_of(std::uint64_t overage, std::uint64_t bytes) {
    std::uint64_t a_batch = overage * overage * 1000 >> square_shift;
    std::uint64_t ms = ratio_floor(a_batch, bytes, charge_batch_bytes);
    return ms < throttle_ms_max ? ms : throttle_ms_max;
}

} // namespace allot
