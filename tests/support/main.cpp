// The main function of unit tests, where Boost's header was compiled ahead and could not define it for each.
#include <boost/test/unit_test.hpp>

int main(int argc, char **argv) {
    return boost::unit_test::unit_test_main([] { return true; }, argc, argv);
}
