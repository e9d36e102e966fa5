#define BOOST_TEST_MODULE uncounted
#include <boost/test/unit_test.hpp>

#include "accounting/uncounted.hpp"

#include "accounting/accounting.hpp"
#include "accounting/region.hpp"
#include "accounting/shared/file.hpp"
#include "accounting/shared/members.hpp"
#include "tests/support/shared_tree.hpp"
#include "tests/support/verified.hpp"

using namespace allot;

static void note_some() {
    note_uncounted(500);
    note_uncounted(-200);
    note_uncounted(-1000);
}

BOOST_AUTO_TEST_CASE(before_there_are_books_nothing_is_noted) {
    BOOST_TEST_REQUIRE(!region_is_mapped());
    note_some();
}

BOOST_FIXTURE_TEST_CASE(it_is_noted_and_never_negative, verified) {
    note_some();
    BOOST_TEST(region().uncounted.now.load() == 0u);
    BOOST_TEST(region().uncounted.peak.load() == 500u);
}

BOOST_FIXTURE_TEST_CASE(who_shares_a_tree_notes_it_where_others_see_it, shared::shared_tree) {
    BOOST_TEST_REQUIRE((&uncounted() == &shared::member_at(shared::this_member).uncounted));
    uncounted().now = 5;
    BOOST_TEST(shared::member_at(shared::this_member).uncounted.now.load() == 5u);
}
