// The main function of the unit tests where the header that would define it has been compiled ahead.
#define BOOST_TEST_MODULE allot
#include <boost/test/unit_test.hpp>
