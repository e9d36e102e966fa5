#define BOOST_TEST_MODULE cgroup_files
#include <boost/test/unit_test.hpp>

#include "accounting/cgroup_files.hpp"

#include "accounting/context_table.hpp"
#include "tests/support/dying.hpp"
#include "tests/support/verified.hpp"

#include <cerrno>

using namespace allot;

BOOST_FIXTURE_TEST_CASE(a_process_is_listed_in_its_own_tenant_and_nowhere_else, verified) {
    BOOST_TEST(get(tenant_root(), "cgroup.procs") == std::to_string(getpid()) + "\n");
    BOOST_TEST(get(top, "cgroup.procs") == "");
    BOOST_TEST(tenant_set(top, "cgroup.procs", "0") == -EACCES);
}

BOOST_FIXTURE_TEST_CASE(a_tenant_is_populated_while_a_thread_works_for_it_or_below_it, verified) {
    allot_tenant *a = make("/case/a");
    BOOST_TEST(get(tenant_root(), "cgroup.events") == "populated 1\nfrozen 0\n");
    BOOST_TEST(get(top, "cgroup.events") == "populated 0\nfrozen 0\n");
    context *c = context_open(obj_cgroup_of(a));
    BOOST_TEST(get(top, "cgroup.events") == "populated 1\nfrozen 0\n");
    context_park(c); // its thread has ended
    BOOST_TEST(get(top, "cgroup.events") == "populated 0\nfrozen 0\n");
    context_close(c);
}

BOOST_FIXTURE_TEST_CASE(no_more_descendants_than_every_ancestor_allows, verified) {
    BOOST_TEST(get(top, "cgroup.max.descendants") == "max\n");
    BOOST_TEST(tenant_set(top, "cgroup.max.descendants", "2") == 0);
    BOOST_TEST(get(top, "cgroup.max.descendants") == "2\n");
    allot_tenant *a = make("/case/a");
    allot_tenant *b = make("/case/a/b");
    int error = 0;
    BOOST_TEST((tenant_create(a, "c", error) == nullptr));
    BOOST_TEST(error == -EAGAIN);
    BOOST_TEST((tenant_create_path("/case/c/d") == nullptr));
    BOOST_TEST(get(top, "cgroup.stat") == "nr_descendants 2\nnr_dying_descendants 0\n");
    BOOST_TEST(tenant_destroy(b) == 0);
    BOOST_TEST((tenant_create(top, "c", error) != nullptr));
    BOOST_TEST(tenant_set(top, "cgroup.max.descendants", "1") == 0); // what is there stays
    BOOST_TEST((tenant_create(top, "d", error) == nullptr));
    BOOST_TEST(tenant_set(top, "cgroup.max.descendants", "max\n") == 0);
    BOOST_TEST((tenant_create(top, "d", error) != nullptr));
    for (const char *bad : {"", "-1", "x", "1x", "4294967295", "99999999999999999999"})
        BOOST_TEST(tenant_set(top, "cgroup.max.descendants", bad) == -EINVAL, bad);
}

BOOST_FIXTURE_TEST_CASE(a_destroyed_tenant_whose_handle_is_named_counts_as_dying, verified) {
    allot_tenant *a = make("/case/a");
    std::uint32_t handle = obj_cgroup_get(a);
    BOOST_TEST(tenant_destroy(a) == 0);
    BOOST_TEST(get(top, "cgroup.stat") == "nr_descendants 0\nnr_dying_descendants 1\n");
    obj_cgroup_put(handle);
    BOOST_TEST(get(top, "cgroup.stat") == "nr_descendants 0\nnr_dying_descendants 0\n");
}

BOOST_FIXTURE_TEST_CASE(a_kill_ends_the_processes_of_the_subtree_and_no_other, verified) {
    death spared = death_of([] {
        accounting_child_start();
        if (tenant_set(tenant_create_path("/case"), "cgroup.kill", "1") != 0) _exit(1); // this process is not in it
        if (tenant_set(tenant_root(), "cgroup.kill", "0") != -EINVAL) _exit(2);
        if (tenant_set(tenant_root(), "cgroup.kill", "") != -EINVAL) _exit(3);
        _exit(0);
    });
    BOOST_TEST(spared.signal == 0);
    BOOST_TEST(spared.status == 0);
    death killed = death_of([] {
        accounting_child_start();
        (void)tenant_set(tenant_root(), "cgroup.kill", "1\n");
    });
    BOOST_TEST(killed.signal == SIGKILL);
}

BOOST_FIXTURE_TEST_CASE(in_the_child_of_a_fork_descendants_are_counted_anew, verified) {
    make("/case/a/b");
    make("/case/c");
    death d = death_of([] {
        accounting_child_start();
        int error = 0;
        _exit(verified::get(tenant_open("/case", error), "cgroup.stat") == "nr_descendants 3\nnr_dying_descendants 0\n"
                  ? 0
                  : 1);
    });
    BOOST_TEST(d.status == 0);
}
