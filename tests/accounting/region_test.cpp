#define BOOST_TEST_MODULE region
#include <boost/test/unit_test.hpp>

#include "accounting/region.hpp"

#include "accounting/context_table.hpp"
#include "accounting/obj_cgroup.hpp"
#include "tests/support/dying.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/verified.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <utility>
#include <vector>

using namespace allot;

BOOST_AUTO_TEST_CASE(tables_do_not_overlap_in_any_window) {
    for (std::uint32_t shift = 0; shift <= window_shift_max; ++shift) {
        std::vector<std::pair<std::uint64_t, std::uint64_t>> places;
        for (std::uint32_t t = 0; t < nr_tables; ++t) {
            places.emplace_back(table_start(table{t}, shift), table_end(table{t}, shift));
            BOOST_TEST(places.back().first % piece_bytes == 0u);
            BOOST_TEST(places.back().first < places.back().second);
        }
        std::sort(places.begin(), places.end());
        std::uint64_t end = piece_bytes; // of the header
        for (auto [first, last] : places) {
            BOOST_TEST(first >= end);
            end = last;
        }
        BOOST_TEST(end == window_bytes >> shift);
    }
}

BOOST_FIXTURE_TEST_CASE(an_index_that_names_nothing_leads_nowhere, verified) {
    BOOST_TEST((record_of<tenant>(0) == nullptr));
    BOOST_TEST((record_of<tenant>(0xffffffff) == nullptr));
    BOOST_TEST(
        (record_of<context_record>(region().tables[static_cast<std::uint32_t>(table::contexts)].capacity) == nullptr));
}

BOOST_FIXTURE_TEST_CASE(addresses_stay_while_tables_grow, verified) {
    tenant *first = tenant_from(top);
    for (int i = 0; i < 2000; ++i) make(("/case/t" + std::to_string(i)).c_str()); // about 1 MiB of records
    BOOST_TEST((record_of<tenant>(first->index) == first));
    BOOST_TEST(first->name == "case");
}

BOOST_FIXTURE_TEST_CASE(freed_indices_come_back_in_the_order_they_were_freed, verified) {
    std::uint32_t freed[3];
    allot_tenant *t[3] = {make("/case/a"), make("/case/b"), make("/case/c")};
    for (int i = 0; i < 3; ++i) freed[i] = tenant_from(t[i])->index;
    for (allot_tenant *one : t) BOOST_TEST_REQUIRE(tenant_destroy(one) == 0);
    // Whatever was freed before comes first.
    std::vector<std::uint32_t> order;
    for (int i = 0; i < 3000; ++i) {
        std::uint32_t index = tenant_from(make(("/case/n" + std::to_string(i)).c_str()))->index;
        for (std::uint32_t f : freed)
            if (f == index) order.push_back(index);
        if (order.size() == 3) break;
    }
    BOOST_TEST(order == std::vector<std::uint32_t>(freed, freed + 3), boost::test_tools::per_element());
}

namespace {

std::uint64_t address_space_kib() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.rfind("VmSize:", 0) == 0) return std::stoull(line.substr(7));
    return 0;
}

} // namespace

// A program under `ulimit -v` must not lose its address space to a reservation. Sanitizers have no far addresses.
BOOST_AUTO_TEST_CASE(little_is_mapped_and_nothing_is_reserved) {
    if (the_region.placed == region_view::placement::reserved) return;
    death d = death_of([] {
        the_region.placed = region_view::placement::none;
        for (auto &mapped : the_region.mapped) mapped = 0;
        std::uint64_t before = address_space_kib();
        _exit(region_create() && address_space_kib() - before < 1024 ? 0 : 1);
    });
    BOOST_TEST((d.signal == 0 && d.status == 0));
}

BOOST_AUTO_TEST_CASE(where_no_far_address_can_be_had_the_window_is_reserved_and_smaller,
                     *boost::unit_test::precondition(address_space_can_be_limited)) {
    death d = death_of([] {
        the_region.placed = region_view::placement::none;
        for (auto &mapped : the_region.mapped) mapped = 0;
        rlimit small{200u << 20, 200u << 20};
        setrlimit(RLIMIT_AS, &small);
        bool made = region_create(region_view::placement::reserved);
        bool placed = the_region.placed == region_view::placement::reserved && the_region.window_shift > 0;
        bool grows = region_reach(table::contexts, 10000) && region_reach(table::obj_cgroups, 5000);
        bool ends =
            !region_reach(table::contexts, region().tables[static_cast<std::uint32_t>(table::contexts)].capacity);
        _exit(made && placed && grows && ends ? 0 : 1);
    });
    BOOST_TEST((d.signal == 0 && d.status == 0));
}

// Another thread of the parent has mapped a piece and not said so yet.
BOOST_AUTO_TEST_CASE(a_growth_that_a_fork_caught_half_done_is_undone_in_the_child) {
    death d = death_of([] {
        the_region.placed = region_view::placement::none;
        for (auto &mapped : the_region.mapped) mapped = 0;
        if (!region_create()) _exit(2);
        if (the_region.placed == region_view::placement::reserved) _exit(0); // there it is mapped over
        constexpr auto t = static_cast<std::uint32_t>(table::tenants);
        std::uint32_t before = the_region.mapped[t];
        if (!region_reach(table::tenants, before)) _exit(3);
        the_region.mapped[t] = before;
        if (region_reach(table::tenants, before)) _exit(4); // something is there
        the_region.intended[t] = 2 * std::uint64_t{before} * sizeof(tenant);
        region_child_start();
        _exit(region_reach(table::tenants, before) && record_of<tenant>(before) != nullptr ? 0 : 1);
    });
    BOOST_TEST((d.signal == 0 && d.status == 0));
}
