#define BOOST_TEST_MODULE thread_files
#include <boost/test/unit_test.hpp>

#include "accounting/thread_files.hpp"

#include "accounting/allocator_source.hpp"
#include "tests/support/verified.hpp"

#include <cerrno>
#include <map>

using namespace allot;

namespace {

std::map<std::uint32_t, allot_tenant *> works_for; // by thread

constexpr allocator_source fake{
    [] { return allocator_figures{}; },
    [](requested_visitor, void *) {},
    [](thread_visitor visit, void *state) {
        for (auto [id, t] : works_for) visit(state, id, t);
    },
    [](std::uint32_t id, allot_tenant *t) {
        if (works_for.count(id) == 0) return -ESRCH;
        works_for[id] = t;
        return 0;
    },
};

struct with_threads : verified {
    with_threads() {
        works_for = {{0, top}, {100, top}, {101, top}};
        accounting_set_allocator(&fake);
    }
    ~with_threads() { accounting_set_allocator(nullptr); }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(threads_are_listed_where_they_work_and_not_above, with_threads) {
    allot_tenant *a = make("/case/a");
    BOOST_TEST(get(top, "cgroup.threads") == "0\n100\n101\n");
    BOOST_TEST(get(a, "cgroup.threads") == "");
    BOOST_TEST(tenant_set(a, "cgroup.threads", "101\n") == 0);
    BOOST_TEST(get(top, "cgroup.threads") == "0\n100\n");
    BOOST_TEST(get(a, "cgroup.threads") == "101\n");
    BOOST_TEST(tenant_set(a, "cgroup.threads", "0") == 0);
    BOOST_TEST(get(a, "cgroup.threads") == "0\n101\n");
}

BOOST_FIXTURE_TEST_CASE(what_is_no_thread_is_said_so, with_threads) {
    BOOST_TEST(tenant_set(top, "cgroup.threads", "102") == -ESRCH);
    for (const char *bad : {"", "-1", "x", "100x", "100 101", "4294967396", "99999999999999999999"})
        BOOST_TEST(tenant_set(top, "cgroup.threads", bad) == -EINVAL, bad);
    allot_tenant *gone = make("/case/gone");
    destroy_below("/case/gone");
    BOOST_TEST(tenant_set(gone, "cgroup.threads", "100") == -ESTALE);
    BOOST_TEST(get(gone, "cgroup.threads") == "error " + std::to_string(-ESTALE));
    BOOST_TEST(works_for[100] == top);
}

BOOST_FIXTURE_TEST_CASE(a_list_of_very_many_threads_is_whole, with_threads) {
    std::string expected;
    works_for.clear();
    for (std::uint32_t id = 1000; id < 3000; ++id) {
        works_for[id] = top;
        expected += std::to_string(id) + "\n";
    }
    std::string text(expected.size() + 1, '\0');
    BOOST_TEST(tenant_get(top, "cgroup.threads", text.data(), text.size()) == static_cast<long>(expected.size()));
    text.pop_back();
    BOOST_TEST(text == expected);
}

BOOST_FIXTURE_TEST_CASE(without_an_allocator_there_are_none, verified) {
    BOOST_TEST(get(top, "cgroup.threads") == "");
    BOOST_TEST(tenant_set(top, "cgroup.threads", "0") == -ESRCH);
}
