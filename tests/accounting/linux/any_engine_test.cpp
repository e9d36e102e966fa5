// The tree, and the sums over CPUs; what engines do with it is in engine_test.cpp.
#define BOOST_TEST_MODULE any_engine
#include <boost/test/unit_test.hpp>

#include "accounting/linux/engines.hpp"

#include <cstdint>

using namespace allot::memcg;

BOOST_AUTO_TEST_CASE(groups_have_owners_of_their_own_numbered_from_1) {
    auto e = make_engine<linux_6_1>({2});
    group &a = e->create(e->root()), &b = e->create(a);
    BOOST_TEST(e->root().parent == nullptr);
    BOOST_TEST(b.parent == &a);
    BOOST_TEST(e->root().own->number == 1u);
    BOOST_TEST(b.own->number == 3u);
    BOOST_TEST(b.own->of == &b);
}

BOOST_AUTO_TEST_CASE(a_destroyed_groups_owners_and_those_it_inherited_go_to_its_parent) {
    auto e = make_engine<linux_6_1>({1});
    group &a = e->create(e->root()), &b = e->create(a), &c = e->create(b);
    e->destroy(c);
    BOOST_TEST(c.own->of == &b);
    e->destroy(b);
    BOOST_TEST(c.own->of == &a);
    BOOST_TEST(b.own->of == &a);
}

// Another CPU's exchange takes the line away from who only wants to find out whom to charge.
BOOST_AUTO_TEST_CASE(what_an_owner_is_asked_lies_on_the_line_of_its_spare_bytes) {
    auto e = make_engine<linux_6_1>({1});
    const owner &o = *e->root().own;
    auto line_of = [](const void *p) { return reinterpret_cast<std::uintptr_t>(p) / 64; };
    BOOST_TEST(line_of(&o.references) == line_of(&o.spare_bytes));
    BOOST_TEST(line_of(&o.of) == line_of(&o.spare_bytes));
}

BOOST_AUTO_TEST_CASE(cpus_share_no_line) {
    auto e = make_engine<linux_6_1>({3});
    group &g = e->create(e->root());
    for (std::uint32_t i = 0; i < 3; ++i) BOOST_TEST(reinterpret_cast<std::uintptr_t>(&e->cpu_of(i)) % 64 == 0u);
    for (std::uint32_t i = 0; i < 3; ++i)
        BOOST_TEST(reinterpret_cast<std::uintptr_t>(&g.own->references[i]) % 64 == 0u);
    for (std::uint32_t i = 0; i < 3; ++i) BOOST_TEST(reinterpret_cast<std::uintptr_t>(&g.by_cpu[i]) % 64 == 0u);
}

BOOST_AUTO_TEST_CASE(counts_are_those_of_all_cpus) {
    auto e = make_engine<linux_6_1>({2});
    group &g = e->create(e->root());
    BOOST_TEST(e->charge_pages(e->cpu_of(0), g, 3));
    BOOST_TEST(e->charge_pages(e->cpu_of(1), g, 4));
    BOOST_TEST(e->counts().pages_charged == 7u);
    BOOST_TEST(e->cpu_of(0).counts.pages_charged == 3u);
    tally rest = e->counts();
    rest -= e->cpu_of(0).counts;
    BOOST_TEST(rest.pages_charged == 4u);
    BOOST_TEST(rest.shared() == e->cpu_of(1).counts.shared());
}
