#define BOOST_TEST_MODULE throttle
#include <boost/test/unit_test.hpp>

#include "accounting/throttle.hpp"

#include "tests/support/verified.hpp"

using namespace allot;

namespace {

constexpr std::uint64_t MiB = std::uint64_t{1} << 20;

std::uint64_t ms_at(std::uint64_t mib) { return throttle_ms_of(overage_of(mib * MiB, 100 * MiB), charge_batch_bytes); }

} // namespace

BOOST_FIXTURE_TEST_CASE(a_batch_over_100_mib_is_delayed_as_by_the_kernel, verified) {
    const struct {
        std::uint64_t mib, ms;
    } vector[] = {{100, 0},   {101, 6},   {102, 25},  {103, 57},  {104, 102},  {105, 159},  {106, 230},  {107, 313},
                  {108, 409}, {109, 518}, {110, 639}, {112, 921}, {115, 1439}, {117, 1849}, {118, 2000}, {200, 2000}};
    for (const auto &v : vector) BOOST_TEST(ms_at(v.mib) == v.ms, v.mib);
}

BOOST_FIXTURE_TEST_CASE(a_part_of_a_batch_takes_its_part_of_the_delay, verified) {
    std::uint64_t overage = overage_of(110 * MiB, 100 * MiB);
    BOOST_TEST(throttle_ms_of(overage, charge_batch_bytes / 2) == 319u);
    BOOST_TEST(throttle_ms_of(overage, 16) == 0u);
    BOOST_TEST(throttle_ms_of(overage, 0) == 0u);
    BOOST_TEST(throttle_ms_of(overage, 100 * MiB) == throttle_ms_max);
}

BOOST_FIXTURE_TEST_CASE(no_size_overflows, verified) {
    BOOST_TEST(throttle_ms_of(overage_of(std::uint64_t{1} << 47, 0), std::uint64_t{1} << 47) == throttle_ms_max);
    BOOST_TEST(overage_of(unlimited, unlimited) == 0u);
    BOOST_TEST(throttle_ms_of(overage_of(unlimited, 1), 4096) == throttle_ms_max);
    BOOST_TEST(overage_of(0, 0) == 0u);
    BOOST_TEST(overage_of((std::uint64_t{1} << 46) * 2, std::uint64_t{1} << 46) == std::uint64_t{1} << 20);
}
