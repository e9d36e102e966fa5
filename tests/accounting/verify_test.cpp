#define BOOST_TEST_MODULE verify
#include <boost/test/unit_test.hpp>

#include "accounting/context_table.hpp"
#include "tests/support/verified.hpp"

using namespace allot;

namespace {

// Stands for an allocator's walk over its slabs.
std::uint32_t found_handle;
std::uint64_t found_bytes, found_objects;
void found(recount_sink &sink) {
    if (found_bytes != 0) sink.add(sink.state, found_handle, found_bytes, found_objects);
}

bool first_says(const char *text) {
    verify_result result = verify();
    return result.differences > 0 && std::string(result.first).find(text) != std::string::npos;
}

} // namespace

BOOST_FIXTURE_TEST_CASE(what_lives_is_compared_with_what_the_source_finds, verified) {
    context *c = context_open(obj_cgroup_of(top));
    BOOST_TEST(charge(c, 4096));
    found_handle = obj_cgroup_of(top);
    found_bytes = 4096;
    found_objects = 1;
    verify_set_source(found);
    BOOST_TEST(verify().differences == 0u);
    found_bytes = 4080;
    BOOST_TEST(first_says("/case: slab is 4096 and should be 4080"));
    found_bytes = 4096;
    found_objects = 2;
    BOOST_TEST(first_says("/case: objects is 1 and should be 2"));
    found_bytes = 0;
    verify_set_source(nullptr);
    uncharge(c, 4096);
    context_close(c);
}

BOOST_FIXTURE_TEST_CASE(bytes_of_unknown_owners_are_a_difference, verified) {
    found_handle = 0xffffff;
    found_bytes = 16;
    found_objects = 1;
    verify_set_source(found);
    BOOST_TEST(first_says("unknown owners"));
    verify_set_source(nullptr);
}

BOOST_FIXTURE_TEST_CASE(a_usage_that_is_off_by_one_is_found, verified) {
    tenant &t = *tenant_from(top);
    t.counter.word += std::int64_t{1} << usage_shift;
    BOOST_TEST(first_says("/case: usage is 1 and should be 0"));
    t.counter.word -= std::int64_t{1} << usage_shift;
}

BOOST_FIXTURE_TEST_CASE(a_protected_sum_that_does_not_fit_its_children_is_found, verified) {
    tenant &t = *tenant_from(top);
    t.counter.children_low_usage = 5;
    BOOST_TEST(first_says("children_low_usage is 5 and should be 0"));
    t.counter.children_low_usage = 0;
}

BOOST_FIXTURE_TEST_CASE(a_context_whose_limits_do_not_follow_from_its_stock_is_found, verified) {
    context *c = context_open(obj_cgroup_of(top));
    BOOST_TEST(charge(c, 64));
    net_word hi = c->hi;
    c->hi = hi + (net_word{16} << 32);
    BOOST_TEST(first_says("hi does not follow from stock"));
    c->hi = hi;
    std::int64_t stock = c->stock;
    c->stock = -16;
    BOOST_TEST(first_says("more lives than is charged"));
    c->stock = stock;
    uncharge(c, 64);
    context_close(c);
}
