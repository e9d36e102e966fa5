#define BOOST_TEST_MODULE thread_charges
#include <boost/test/unit_test.hpp>

#include "accounting/thread_charges.hpp"

#include "accounting/base/mutex.hpp"

using namespace allot;

BOOST_AUTO_TEST_CASE(a_mode_lasts_as_long_as_its_scope) {
    BOOST_TEST((charges_here.mode == charge_mode::ordinary));
    {
        charge_mode_scope outer(charge_mode::nofail);
        {
            charge_mode_scope inner(charge_mode::atomic);
            BOOST_TEST((charges_here.mode == charge_mode::atomic));
        }
        BOOST_TEST((charges_here.mode == charge_mode::nofail));
    }
    BOOST_TEST((charges_here.mode == charge_mode::ordinary));
}

BOOST_AUTO_TEST_CASE(user_code_is_not_called_from_within_itself_nor_where_a_lock_is_held_nor_in_a_hurry) {
    BOOST_TEST(may_call_user_code());
    {
        user_code_scope running;
        BOOST_TEST(!may_call_user_code());
    }
    {
        lock_word word{0};
        lock_scope held(word, lock_rank::context);
        BOOST_TEST(!may_call_user_code());
    }
    for (charge_mode mode : {charge_mode::nowait, charge_mode::atomic}) {
        charge_mode_scope hurry(mode);
        BOOST_TEST(!may_call_user_code());
    }
    BOOST_TEST(may_call_user_code());
}

// A shrinker that is called for a NOFAIL allocation must not have its own allocations go over limits.
BOOST_AUTO_TEST_CASE(user_code_charges_in_the_ordinary_mode_and_leaves_flags_as_they_were) {
    charge_mode_scope insistent(charge_mode::nofail);
    charges_here.flags = owes_visit;
    {
        user_code_scope running;
        BOOST_TEST((charges_here.mode == charge_mode::ordinary));
        charges_here.flags |= owes_refusal;
    }
    BOOST_TEST((charges_here.mode == charge_mode::nofail));
    BOOST_TEST(charges_here.flags == owes_visit);
    charges_here.flags = 0;
}

BOOST_AUTO_TEST_CASE(emergencies_nest) {
    emergency_begin();
    emergency_begin();
    emergency_end();
    BOOST_TEST(charges_here.emergencies == 1u);
    emergency_end();
    emergency_end(); // one too many does no harm
    BOOST_TEST(charges_here.emergencies == 0u);
}
