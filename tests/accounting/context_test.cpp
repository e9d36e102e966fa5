#define BOOST_TEST_MODULE context
#include <boost/test/unit_test.hpp>

#include "accounting/context.hpp"

#include "accounting/context_table.hpp"

#include <signal.h>
#include <sys/time.h>

using namespace allot;

BOOST_AUTO_TEST_CASE(net_passes_hi_exactly_when_more_is_used_than_is_charged) {
    for (std::int64_t stock : {std::int64_t{0}, std::int64_t{16}, std::int64_t{4096}, std::int64_t{1} << 30})
        for (std::int64_t bytes : {stock - 16, stock, stock + 16})
            for (std::int32_t objects : {-2147483647, -1, 0, 1, 2147483647})
                for (std::uint32_t epoch : {0u, 1u, 0x7fffffffu, 0xffffffffu})
                    BOOST_TEST((net_of(bytes, objects) > hi_of(stock, epoch)) == (bytes > stock));
}

BOOST_AUTO_TEST_CASE(net_falls_below_lo_exactly_when_less_is_used_than_that) {
    for (std::int64_t least : {-(std::int64_t{1} << 20), std::int64_t{0}, std::int64_t{512}})
        for (std::int64_t bytes : {least - 16, least, least + 16})
            for (std::int32_t objects : {-2147483647, 0, 2147483647})
                BOOST_TEST((net_of(bytes, objects) < lo_of(least)) == (bytes < least));
}

BOOST_AUTO_TEST_CASE(a_sealed_context_lets_no_operation_pass) {
    context_record c{};
    context_seal(c.hot);
    BOOST_TEST(!context_charge(c.hot, net_of(16, 1)));
    BOOST_TEST(!context_uncharge(c.hot, net_of(16, 1)));
    BOOST_TEST(!context_uncharge(c.hot, net_of(std::int64_t{1} << 30, 1000)));
    BOOST_TEST(!context_charge(c.hot, net_of(std::int64_t{1} << 30, 1000)));
}

namespace {
std::atomic<net_word> interrupted{0};
std::atomic<long> additions{0};
} // namespace

// With load, add and store apart, nearly every addition that a handler makes in between would be lost.
BOOST_AUTO_TEST_CASE(a_handlers_addition_is_not_lost) {
    signal(SIGALRM, [](int) {
        net_add(interrupted, net_of(16, 1));
        additions.store(additions.load() + 1);
    });
    itimerval often{{0, 20}, {0, 20}};
    setitimer(ITIMER_REAL, &often, nullptr);
    for (long i = 0; i < 20000000; ++i) {
        net_add(interrupted, net_of(64, 1));
        net_add(interrupted, -net_of(64, 1));
    }
    itimerval never{};
    setitimer(ITIMER_REAL, &never, nullptr);
    BOOST_TEST(additions.load() > 10);
    BOOST_TEST(net_objects(interrupted.load()) == additions.load());
}
