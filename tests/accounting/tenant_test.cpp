#define BOOST_TEST_MODULE tenant
#include <boost/test/unit_test.hpp>

#include "accounting/tenant.hpp"

#include "tests/support/verified.hpp"

#include <cerrno>
#include <set>
#include <thread>
#include <vector>

using namespace allot;

namespace {

int error_of_creating(allot_tenant *parent, const char *name) {
    int error = 0;
    allot_tenant *t = tenant_create(parent, name, error);
    if (t == nullptr) return error;
    BOOST_TEST(tenant_destroy(t) == 0);
    return 0;
}

} // namespace

BOOST_FIXTURE_TEST_CASE(names_are_one_to_63_bytes_without_slash_and_no_dots, verified) {
    BOOST_TEST(error_of_creating(top, std::string(63, 'x').c_str()) == 0);
    BOOST_TEST(error_of_creating(top, std::string(64, 'x').c_str()) == -ENAMETOOLONG);
    for (const char *bad : {"", ".", "..", "a/b", "/"}) BOOST_TEST(error_of_creating(top, bad) == -EINVAL, bad);
    BOOST_TEST(error_of_creating(top, "...") == 0);
    BOOST_TEST(error_of_creating(top, nullptr) == -EINVAL);
    make("/case/a");
    BOOST_TEST(error_of_creating(top, "a") == -EEXIST);
}

BOOST_FIXTURE_TEST_CASE(paths_lead_to_tenants_and_back, verified) {
    allot_tenant *c = make("/case/a/b/c");
    int error = 0;
    BOOST_TEST((tenant_open("/case/a/b/c", error) == c));
    BOOST_TEST((tenant_open("/case//a/b/c/", error) == c));
    BOOST_TEST((tenant_open("/", error) == tenant_root()));
    BOOST_TEST((tenant_open("/case/nobody", error) == nullptr));
    BOOST_TEST(error == -ENOENT);
    for (const char *bad : {"", "case", "/case/../case", "/case/."}) {
        BOOST_TEST((tenant_open(bad, error) == nullptr), bad);
        BOOST_TEST(error == -EINVAL, bad);
    }
    char path[64];
    BOOST_TEST(write_path(*tenant_from(c), path, sizeof path) == 11u);
    BOOST_TEST(path == "/case/a/b/c");
    char tiny[6];
    BOOST_TEST(write_path(*tenant_from(c), tiny, sizeof tiny) == 11u);
    BOOST_TEST(tiny == "/case");
    BOOST_TEST(write_path(root_tenant(), path, sizeof path) == 1u);
    BOOST_TEST(path == "/");
}

BOOST_FIXTURE_TEST_CASE(a_tree_is_as_deep_as_stated_and_a_path_that_is_too_deep_leaves_nothing, verified) {
    std::string path = "/case";
    for (std::uint32_t depth = 1; depth < tenant_depth_max; ++depth) path += "/d";
    allot_tenant *deepest = make(path.c_str());
    BOOST_TEST(error_of_creating(deepest, "e") == -ENOSPC);
    context *c = context_open(obj_cgroup_of(deepest));
    BOOST_TEST(charge(c, 1024));
    uncharge(c, 1024);
    context_close(c);
    destroy_below("/case/d");
    BOOST_TEST((tenant_create_path((path + "/e").c_str()) == nullptr));
    int error = 0;
    BOOST_TEST((tenant_open("/case/d", error) == nullptr));
}

BOOST_FIXTURE_TEST_CASE(a_tenant_with_children_and_the_root_cannot_be_destroyed, verified) {
    make("/case/a/b");
    int error = 0;
    BOOST_TEST(tenant_destroy(tenant_open("/case/a", error)) == -EBUSY);
    BOOST_TEST(tenant_destroy(tenant_root()) == -EBUSY);
    BOOST_TEST(tenant_destroy(nullptr) == -ESTALE);
}

BOOST_FIXTURE_TEST_CASE(the_handle_of_a_destroyed_tenant_is_stale_for_good, verified) {
    std::set<allot_tenant *> seen;
    for (int i = 0; i < 1000; ++i) {
        allot_tenant *t = make("/case/t");
        BOOST_TEST_REQUIRE(seen.insert(t).second);
        BOOST_TEST_REQUIRE(tenant_destroy(t) == 0);
        BOOST_TEST_REQUIRE(tenant_destroy(t) == -ESTALE);
        BOOST_TEST_REQUIRE(get(t, "memory.current") == "error " + std::to_string(-ESTALE));
    }
}

BOOST_FIXTURE_TEST_CASE(ten_thousand_siblings_are_told_apart, verified) {
    for (int i = 0; i < 10000; ++i) make(("/case/t" + std::to_string(i)).c_str());
    BOOST_TEST(keyed(top, "cgroup.stat", "nr_descendants") == 10000u);
    int error = 0;
    for (int i = 0; i < 10000; i += 7) {
        std::string path = "/case/t" + std::to_string(i);
        BOOST_TEST_REQUIRE(tenant_destroy(tenant_open(path.c_str(), error)) == 0);
        BOOST_TEST_REQUIRE((tenant_open(path.c_str(), error) == nullptr));
    }
    BOOST_TEST((tenant_open("/case/t9999", error) != nullptr));
}

BOOST_FIXTURE_TEST_CASE(what_children_protect_ends_with_them, verified) {
    allot_tenant *a = make("/case/a");
    BOOST_TEST_REQUIRE(tenant_set(a, "memory.min", "1M") == 0);
    context *c = context_open(obj_cgroup_of(a));
    BOOST_TEST_REQUIRE(charge(c, 512 * 1024));
    BOOST_TEST(tenant_from(top)->counter.children_min_usage.load() >= 512u * 1024);
    BOOST_TEST_REQUIRE(tenant_destroy(a) == 0);
    BOOST_TEST(tenant_from(top)->counter.children_min_usage.load() == 0u);
    uncharge(c, 512 * 1024);
    context_close(c);
}

// Who is promised something need not be who charges: each level on the way tells its own parent.
BOOST_FIXTURE_TEST_CASE(what_is_charged_far_below_is_protected_at_every_level, verified) {
    allot_tenant *a = make("/case/a"), *b = make("/case/a/b"), *c = make("/case/a/b/c");
    BOOST_TEST_REQUIRE(tenant_set(a, "memory.min", "64K") == 0);
    BOOST_TEST_REQUIRE(tenant_set(b, "memory.low", "32K") == 0);
    const page_counter &of_top = tenant_from(top)->counter, &of_a = tenant_from(a)->counter;
    std::uint32_t owner = obj_cgroup_of(c);
    BOOST_TEST(charge_bytes(owner, 16384, charge_kind::external));
    BOOST_TEST(of_top.children_min_usage.load() == 16384u);
    BOOST_TEST(of_a.children_low_usage.load() == 16384u);
    BOOST_TEST(charge_bytes(owner, 81920, charge_kind::external));
    BOOST_TEST(of_top.children_min_usage.load() == 65536u);
    BOOST_TEST(of_a.children_low_usage.load() == 32768u);
    uncharge_bytes(owner, 90112, charge_kind::external);
    BOOST_TEST(of_top.children_min_usage.load() == 8192u);
    BOOST_TEST(of_a.children_low_usage.load() == 8192u);
    BOOST_TEST_REQUIRE(tenant_set(a, "memory.min", "0") == 0);
    BOOST_TEST_REQUIRE(tenant_set(b, "memory.low", "0") == 0);
    BOOST_TEST(of_top.children_min_usage.load() == 0u);
    BOOST_TEST(of_a.children_low_usage.load() == 0u);
    uncharge_bytes(owner, 8192, charge_kind::external);
}

BOOST_FIXTURE_TEST_CASE(threads_create_and_destroy_side_by_side, verified) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([this, t] {
            for (int i = 0; i < 2000; ++i) {
                int error = 0;
                allot_tenant *made =
                    tenant_create(top, ("t" + std::to_string(t) + "-" + std::to_string(i % 3)).c_str(), error);
                if (made == nullptr || tenant_destroy(made) != 0) std::abort();
            }
        });
    for (std::thread &t : threads) t.join();
    BOOST_TEST(keyed(top, "cgroup.stat", "nr_descendants") == 0u);
}
