#define BOOST_TEST_MODULE shared_requests
#include <boost/test/unit_test.hpp>

#include "accounting/shared/requests.hpp"
#include "tests/support/shared_tree.hpp"

#include <cerrno>

using namespace allot;
using namespace allot::shared;

namespace {

std::uint64_t twice(request_kind kind, std::uint32_t node, std::uint64_t bytes) {
    return kind == request_kind::reclaim ? 2 * bytes + node : 7;
}

void serve_for_ever(other_process::words &w) {
    w.is_ready = 1;
    for (;;) {
        if (request_is_waiting()) request_serve(twice);
        usleep(100);
    }
}

} // namespace

BOOST_FIXTURE_TEST_CASE(a_request_is_answered_by_who_it_was_posted_to, shared_tree) {
    other_process p(root_node, serve_for_ever);
    std::uint64_t answer = 0;
    for (std::uint64_t i = 0; i < 20; ++i) {
        BOOST_TEST(request_post(p.told->member, request_kind::reclaim, 5, 1000 + i, answer) == 0);
        BOOST_TEST(answer == 2 * (1000 + i) + 5);
    }
    BOOST_TEST(request_post(p.told->member, request_kind::verify, root_node, 0, answer) == 0);
    BOOST_TEST(answer == 7u);
}

BOOST_FIXTURE_TEST_CASE(who_does_not_serve_is_waited_for_for_a_second, shared_tree) {
    other_process p(root_node, [](other_process::words &) {});
    std::uint64_t answer = 0;
    const std::uint64_t start = os_nanoseconds();
    BOOST_TEST(request_post(p.told->member, request_kind::reclaim, root_node, 1, answer) == -EAGAIN);
    const std::uint64_t ms = (os_nanoseconds() - start) / 1000000;
    BOOST_TEST((ms >= 900 && ms < 3000));
    BOOST_TEST(member_at(p.told->member).request.stamp.load() == 0u); // given up
}

BOOST_FIXTURE_TEST_CASE(one_request_at_a_time_and_that_of_a_killed_one_is_replaced, shared_tree) {
    other_process p(root_node, [](other_process::words &) {});
    const std::uint32_t target = p.told->member;
    const pid_t poster = fork();
    if (poster == 0) {
        std::uint64_t answer;
        (void)request_post(target, request_kind::reclaim, root_node, 1, answer);
        _exit(0);
    }
    while (member_at(target).request.stamp.load() == 0) usleep(100);
    std::uint64_t answer = 0;
    BOOST_TEST(request_post(target, request_kind::reclaim, root_node, 1, answer) == -EBUSY);
    kill(poster, SIGKILL);
    waitpid(poster, nullptr, 0);
    BOOST_TEST(request_post(target, request_kind::reclaim, root_node, 1, answer) == -EBUSY); // nobody knows yet
    usleep(3500000);
    BOOST_TEST(request_post(target, request_kind::reclaim, root_node, 1, answer) == -EAGAIN); // it was posted
}

BOOST_FIXTURE_TEST_CASE(the_dead_are_not_asked_nor_waited_for, shared_tree) {
    other_process p(root_node, [](other_process::words &) {});
    const std::uint32_t target = p.told->member;
    std::uint64_t answer = 0;
    const pid_t killer = fork();
    if (killer == 0) {
        usleep(50000);
        kill(p.pid, SIGKILL);
        _exit(0);
    }
    BOOST_TEST(request_post(target, request_kind::reclaim, root_node, 1, answer) == -ESRCH);
    waitpid(killer, nullptr, 0);
    usleep(2000);
    BOOST_TEST(request_post(target, request_kind::reclaim, root_node, 1, answer) == -ESRCH);
}

BOOST_FIXTURE_TEST_CASE(nothing_is_served_twice_nor_where_nothing_waits, shared_tree) {
    static int served;
    request_serve([](request_kind, std::uint32_t, std::uint64_t) -> std::uint64_t {
        return static_cast<std::uint64_t>(++served);
    });
    BOOST_TEST(served == 0);
    BOOST_TEST(!request_is_waiting());
    member &m = member_at(this_member);
    m.request.value.store(9);
    m.request.stamp.store(std::uint64_t{77} << 32 | 1 << 15 | root_node);
    BOOST_TEST(request_is_waiting());
    auto serve = [] {
        request_serve([](request_kind, std::uint32_t, std::uint64_t bytes) {
            ++served;
            request_serve([](request_kind, std::uint32_t, std::uint64_t) -> std::uint64_t {
                return static_cast<std::uint64_t>(++served);
            });
            return bytes;
        });
    };
    serve();
    serve();
    BOOST_TEST(served == 1); // nor from within
    BOOST_TEST(m.request_answer.load() == 9u);
    BOOST_TEST(!request_is_waiting());
}
