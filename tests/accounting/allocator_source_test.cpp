#define BOOST_TEST_MODULE allocator_source
#include <boost/test/unit_test.hpp>

#include "accounting/allocator_source.hpp"

#include "accounting/base/mutex.hpp"
#include "tests/support/verified.hpp"

#include <cerrno>

using namespace allot;

namespace {

std::uint32_t half_wasted, all_used; // handles with samples

constexpr allocator_source fake{
    [] { return allocator_figures{.cache = 1000, .overhead = 200, .resident = 5000}; },
    [](requested_visitor visit, void *state) {
        if (half_wasted != 0) visit(state, half_wasted, 50, 100);
        if (all_used != 0) visit(state, all_used, 300, 300);
    },
    [](thread_visitor, void *) {},
    [](std::uint32_t, allot_tenant *) { return -ESRCH; },
};

std::uint64_t estimate_of(allot_tenant *t, std::uint64_t usable) { return requested_estimate(*tenant_from(t), usable); }

struct without_samples : verified {
    ~without_samples() {
        half_wasted = all_used = 0;
        accounting_set_allocator(nullptr);
    }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(without_an_allocator_all_that_is_used_was_asked_for, without_samples) {
    BOOST_TEST((allocator_if_any() == nullptr));
    BOOST_TEST(estimate_of(top, 1000) == 1000u);
    BOOST_TEST(process_figures().cache == 0u);
}

BOOST_FIXTURE_TEST_CASE(the_region_is_part_of_overhead, without_samples) {
    std::uint64_t region_alone = process_figures().overhead;
    BOOST_TEST(region_alone >= 4096u);
    BOOST_TEST(process_figures().resident == region_alone);
    accounting_set_allocator(&fake);
    BOOST_TEST(process_figures().cache == 1000u);
    BOOST_TEST(process_figures().overhead == region_alone + 200);
    BOOST_TEST(process_figures().resident == region_alone + 5000);
}

BOOST_FIXTURE_TEST_CASE(samples_of_the_subtree_say_how_much_was_asked_for, without_samples) {
    allot_tenant *a = make("/case/a"), *b = make("/case/a/b"), *c = make("/case/c");
    accounting_set_allocator(&fake);
    BOOST_TEST(estimate_of(c, 1000) == 1000u); // nobody has samples
    half_wasted = obj_cgroup_of(b);
    BOOST_TEST(estimate_of(b, 1000) == 500u);
    BOOST_TEST(estimate_of(c, 1000) == 500u); // none of its own: as all do
    all_used = obj_cgroup_of(c);
    BOOST_TEST(estimate_of(a, 1000) == 500u);
    BOOST_TEST(estimate_of(c, 1000) == 1000u);
    BOOST_TEST(estimate_of(top, 1000) == 875u);
}
