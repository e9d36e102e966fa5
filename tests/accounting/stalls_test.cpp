#define BOOST_TEST_MODULE stalls
#include <boost/test/unit_test.hpp>

#include "accounting/stalls.hpp"

#include "accounting/base/os.hpp"
#include "accounting/tenant_extra.hpp"
#include "tests/support/child.hpp"
#include "tests/support/verified.hpp"

#include <atomic>
#include <chrono>
#include <thread>

using namespace allot;

namespace {

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

// total= of a line of memory.pressure.
std::uint64_t total(allot_tenant *t, const std::string &line) {
    std::string text = verified::get(t, "memory.pressure");
    std::size_t at = text.find(" total=", text.find(line));
    BOOST_TEST_REQUIRE(at != std::string::npos, text);
    return std::stoull(text.substr(at + 7));
}

std::uint32_t stalled(allot_tenant *t) {
    tenant_extra *extra = extra_if_any(*tenant_from(t));
    return extra == nullptr ? 0 : pressure_stalled(extra->stalls);
}

} // namespace

BOOST_FIXTURE_TEST_CASE(without_a_stall_the_file_is_all_zeros, verified) {
    BOOST_TEST(get(make("/case/a"), "memory.pressure") == "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
                                                          "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
    BOOST_TEST(tenant_set(top, "memory.pressure", "some 150000 1000000") == -EACCES);
}

BOOST_FIXTURE_TEST_CASE(a_stall_is_seen_at_all_levels_while_it_lasts_and_afterwards, verified) {
    allot_tenant *a = make("/case/a"), *other = make("/case/other");
    {
        stall_scope stall(obj_cgroup_of(a));
        sleep_ms(20);
        BOOST_TEST(stalled(a) == 1u);
        BOOST_TEST(total(a, "some") >= 20'000u);
    }
    BOOST_TEST(stalled(a) == 0u);
    BOOST_TEST(total(top, "some") >= 20'000u);
    BOOST_TEST(total(top, "some") < 10'000'000u);
    BOOST_TEST(total(other, "some") == 0u);
}

BOOST_FIXTURE_TEST_CASE(it_is_full_if_as_many_threads_stall_as_have_contexts, verified) {
    allot_tenant *a = make("/case/a");
    context *one = context_open(obj_cgroup_of(a)), *two = context_open(obj_cgroup_of(a));
    {
        stall_scope stall(obj_cgroup_of(a));
        sleep_ms(10);
    }
    BOOST_TEST(total(a, "full") == 0u);
    context_close(two);
    {
        stall_scope stall(obj_cgroup_of(a));
        sleep_ms(10);
    }
    BOOST_TEST(total(a, "full") >= 10'000u);
    context_close(one);
}

BOOST_FIXTURE_TEST_CASE(a_tenant_that_goes_meanwhile_leaves_its_parent_right, verified) {
    allot_tenant *a = make("/case/a");
    std::uint32_t handle = obj_cgroup_get(a);
    {
        stall_scope stall(handle);
        BOOST_TEST(tenant_destroy(a) == 0);
        BOOST_TEST(stalled(top) == 1u);
        make("/case/b"); // in the record of a, perhaps
    }
    BOOST_TEST(stalled(top) == 0u);
    obj_cgroup_put(handle);
}

BOOST_FIXTURE_TEST_CASE(a_short_wait_is_no_stall, verified) {
    allot_tenant *a = make("/case/a");
    stall_past(obj_cgroup_of(a), stall_ns_least - 1);
    BOOST_TEST(total(a, "some") == 0u);
    stall_past(obj_cgroup_of(a), 3'000'000);
    BOOST_TEST(total(a, "some") == 3'000u);
}

namespace {

// Holds the drain lock for a while, as a drain of many contexts does.
void occupy_drain(std::atomic<bool> &begun, int ms) {
    signals_blocked quiet;
    lock_scope drain(region().drain_lock.word, lock_rank::drain);
    begun = true;
    sleep_ms(ms);
}

} // namespace

BOOST_FIXTURE_TEST_CASE(waiting_for_another_ones_drain_is_a_stall, verified) {
    allot_tenant *a = make("/case/a", "64K");
    std::atomic<bool> begun{false};
    std::thread other([&] { occupy_drain(begun, 30); });
    while (!begun) std::this_thread::yield();
    BOOST_TEST(!charge_bytes(obj_cgroup_of(a), 1 << 20, charge_kind::external));
    other.join();
    BOOST_TEST(total(a, "some") >= 10'000u);
    BOOST_TEST(total(top, "some") >= 10'000u);
}

BOOST_FIXTURE_TEST_CASE(a_child_begins_without_stalls, verified) {
    allot_tenant *a = make("/case/a");
    stall_scope stall(obj_cgroup_of(a));
    sleep_ms(1);
    child_end end = in_child([] {
        accounting_start();
        allot_tenant *own = tenant_create_path("/case/a");
        return stalled(own) == 0 && total(own, "some") == 0 ? 0 : 1;
    });
    BOOST_TEST(end.exited_with(0));
}
