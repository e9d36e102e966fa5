#define BOOST_TEST_MODULE c_api
#include <boost/test/unit_test.hpp>

#include <allot/tenant.h>

#include "tests/support/verified.hpp"

#include <atomic>
#include <cerrno>
#include <string>
#include <thread>

BOOST_AUTO_TEST_CASE(the_first_call_starts_accounting) { BOOST_TEST((allot_root() != nullptr)); }

BOOST_FIXTURE_TEST_CASE(tenants_are_created_opened_and_destroyed_with_errno, verified) {
    allot_tenant *a = allot_tenant_create(top, "a");
    BOOST_TEST_REQUIRE((a != nullptr));
    errno = 0;
    BOOST_TEST((allot_tenant_create(top, "a") == nullptr));
    BOOST_TEST(errno == EEXIST);
    BOOST_TEST((allot_tenant_open("/case/a") == a));
    BOOST_TEST((allot_tenant_open("/case/b") == nullptr));
    BOOST_TEST(errno == ENOENT);
    BOOST_TEST((allot_tenant_open(nullptr) == nullptr));
    BOOST_TEST(errno == EINVAL);
    BOOST_TEST(allot_tenant_destroy(a) == 0);
    BOOST_TEST((allot_tenant_create(a, "b") == nullptr));
    BOOST_TEST(errno == ESTALE);
    BOOST_TEST(allot_tenant_destroy(nullptr) == -EBUSY); // the root
}

BOOST_FIXTURE_TEST_CASE(files_are_read_and_written, verified) {
    BOOST_TEST(allot_tenant_set(top, "memory.max", "1M") == 0);
    char text[32];
    BOOST_TEST(allot_tenant_get(top, "memory.max", text, sizeof text) == 8);
    BOOST_TEST(text == "1048576\n");
    BOOST_TEST(allot_tenant_get(top, nullptr, text, sizeof text) == -EINVAL);
    BOOST_TEST(allot_tenant_set(top, "memory.max", nullptr) == -EINVAL);
    BOOST_TEST(allot_tenant_get(top, "memory.max", nullptr, 5) == -EINVAL);
}

BOOST_FIXTURE_TEST_CASE(external_bytes_are_charged_to_whoever_stands_for_the_tenant, verified) {
    allot_tenant *a = allot_tenant_create(top, "a");
    BOOST_TEST(allot_tenant_set(a, "memory.max", "10000") == 0);
    BOOST_TEST(allot_try_charge(a, 8000) == 0);
    BOOST_TEST(allot_try_charge(a, 8000) == -ENOMEM);
    BOOST_TEST(allot_tenant_current(a) == 8000u);
    BOOST_TEST(allot_tenant_destroy(a) == 0);
    BOOST_TEST(allot_tenant_current(a) == 0u);
    BOOST_TEST(allot_tenant_current(top) == 8000u);
    BOOST_TEST(allot_try_charge(a, 1) == -ESTALE);
    allot_uncharge(a, 8000);
    BOOST_TEST(allot_tenant_current(top) == 0u);
}

BOOST_FIXTURE_TEST_CASE(external_bytes_may_be_charged_while_their_tenant_is_destroyed, verified) {
    std::atomic<allot_tenant *> now{make("/case/t")};
    std::atomic<bool> done{false};
    std::atomic<std::uint64_t> charges{0};
    std::thread charger([&] {
        while (!done) {
            allot_tenant *t = now;
            if (allot_try_charge(t, 4096) == 0) allot_uncharge(t, 4096);
            ++charges;
        }
    });
    for (int i = 0; i < 20000; ++i) {
        BOOST_TEST_REQUIRE(allot_tenant_destroy(now) == 0);
        now = make("/case/t");
        if (i % 1000 != 0) continue;
        for (std::uint64_t before = charges; charges == before;) std::this_thread::yield();
    }
    done = true;
    charger.join();
    BOOST_TEST(usage_of("/case") == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_recount_reports_how_many_tenants_it_saw, verified) {
    allot_verify_report report;
    BOOST_TEST(allot_verify(&report) == 0);
    BOOST_TEST(report.tenants == 2u);
    BOOST_TEST(report.differences == 0u);
    BOOST_TEST(report.first == "");
    BOOST_TEST(allot_verify(nullptr) == 0);
}

BOOST_FIXTURE_TEST_CASE(functions_that_return_no_pointer_leave_errno_alone, verified) {
    errno = 4711;
    (void)allot_tenant_set(top, "memory.max", "nonsense");
    (void)allot_tenant_current(top);
    (void)allot_try_charge(top, ~std::size_t{0} >> 1);
    (void)allot_verify(nullptr);
    BOOST_TEST(errno == 4711);
}
