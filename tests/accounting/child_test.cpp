#define BOOST_TEST_MODULE child
#include <boost/test/unit_test.hpp>

#include "accounting/child.hpp"

#include "accounting/obj_cgroup.hpp"
#include "accounting/shared/members.hpp"
#include "accounting/shared/nodes.hpp"
#include "tests/support/dying.hpp"
#include "tests/support/hierarchy.hpp"
#include "tests/support/verified.hpp"

#include <thread>
#include <vector>

using namespace allot;

namespace {

// In the child: what must hold there, as exit status.
bool child_is_empty_and_works() {
    accounting_child_start();
    int error = 0;
    allot_tenant *a = tenant_open("/case/a", error);
    if (a == nullptr || verify().differences != 0 || tenant_current(tenant_root()) != 0) return false;
    if (verified::get(a, "memory.max") != "1048576\n" || verified::keyed(a, "memory.events", "oom") != 0) return false;
    context *c = context_open(obj_cgroup_of(a));
    int fits = 0;
    while (charge(c, 65536)) ++fits;
    return fits == 16 && verify().differences == 0 && tenant_create_path("/case/of-the-child") != nullptr;
}

} // namespace

// First: here this process has not started accounting itself.
BOOST_AUTO_TEST_CASE(a_child_of_a_shared_tree_is_a_member_of_its_own_and_its_parents_charges_stay) {
    hierarchy h;
    int status = h.run([] {
        if (!accounting_start()) _exit(2);
        context *c = context_open(obj_cgroup_of(tenant_root()));
        for (int i = 0; i < 10; ++i) (void)charge(c, 4096);
        pid_t child = fork();
        if (child == 0) {
            accounting_child_start();
            context *own = context_open(obj_cgroup_of(tenant_root()));
            (void)charge(own, 1024);
            kill(getpid(), SIGKILL);
        }
        waitpid(child, nullptr, 0);
        const bool with_the_childs = tenant_current(tenant_root()) == 40960 + 1024;
        usleep(2000); // it was seen alive a moment ago
        const bool is_reaped = shared::reap_dead(shared::root_node) == 1;
        const bool whole = tenant_current(tenant_root()) == 40960 && verify().differences == 0;
        accounting_finish();
        _exit(with_the_childs && is_reaped && whole ? 0 : 1);
    });
    BOOST_TEST((WIFEXITED(status) && WEXITSTATUS(status) == 0));
    BOOST_TEST_REQUIRE(h.files().size() == 1u);
    BOOST_TEST_REQUIRE(h.attach());
    usleep(2000);
    BOOST_TEST(shared::reap_dead(shared::root_node) == 1u);
    const auto state_of = [](std::uint32_t member) {
        return shared::member_state_in(shared::member_at(member).identity.load());
    };
    BOOST_TEST((state_of(1) == shared::member_state::ended));
    BOOST_TEST((state_of(2) == shared::member_state::died));
    BOOST_TEST(shared::node_at(shared::root_node).usage.value.load() == 0u);
    shared::detach();
}

BOOST_FIXTURE_TEST_CASE(the_child_has_the_limits_and_none_of_the_charges, verified) {
    allot_tenant *a = make("/case/a", "1M");
    context *c = context_open(obj_cgroup_of(a));
    for (int i = 0; i < 10; ++i) BOOST_TEST_REQUIRE(charge(c, 65536));
    BOOST_TEST(!charge(c, 1 << 20));
    death d = death_of([] { _exit(child_is_empty_and_works() ? 0 : 1); });
    BOOST_TEST((d.signal == 0 && d.status == 0), d.message);
    BOOST_TEST(number(a, "memory.current") == 10u * 65536);
    int error = 0;
    BOOST_TEST((tenant_open("/case/of-the-child", error) == nullptr));
    for (int i = 0; i < 10; ++i) uncharge(c, 65536);
    context_close(c);
}

// Other threads may be anywhere: amid a slow path, a drain, a creation, with locks held.
BOOST_FIXTURE_TEST_CASE(a_fork_amid_other_threads_operations_leaves_the_child_sound, verified) {
    make("/case/a", "1M");
    std::atomic<bool> done{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
        threads.emplace_back([&, t] {
            int error = 0;
            std::string name = "t" + std::to_string(t);
            while (!done) {
                allot_tenant *own = tenant_create(tenant_open("/case/a", error), name.c_str(), error);
                context *c = context_open(obj_cgroup_of(own));
                int live = 0;
                for (int i = 0; i < 50; ++i) live += charge(c, 65536) ? 1 : 0;
                (void)tenant_destroy(own); // they are /case/a's now
                while (live-- > 0) uncharge(c, 65536);
                context_close(c);
            }
        });
    for (int i = 0; i < 100; ++i) {
        death d = death_of([] {
            alarm(10);
            _exit(child_is_empty_and_works() ? 0 : 1);
        });
        BOOST_TEST_REQUIRE((d.signal == 0 && d.status == 0), d.message);
    }
    done = true;
    for (std::thread &t : threads) t.join();
}

namespace {

bool limit_of_a_mebibyte_holds(allot_tenant *t) {
    context *c = context_open(obj_cgroup_of(t));
    if (c == nullptr) return false;
    int fits = 0;
    while (fits <= 16 && charge(c, 65536)) ++fits;
    return fits == 16;
}

} // namespace

// What a copy of tables that the parent goes on changing may look like.
BOOST_FIXTURE_TEST_CASE(limits_hold_in_a_child_whose_tables_were_copied_torn, verified) {
    allot_tenant *a = make("/case/a", "1M");
    allot_tenant *b = make("/case/b", "1M");
    allot_tenant *c = make("/case/c", "1M");
    allot_tenant *below = make("/case/c/below", "1M");
    death d = death_of([&] {
        record_at<obj_cgroup>(obj_cgroup_of(a)).references = 0;     // grabs and puts out of step
        tenant_from(b)->obj_cgroup = obj_cgroup_of(a);              // a handle used anew
        tenant_from(c)->counter.parent = tenant_from(below)->index; // a circle
        accounting_child_start();
        int error = 0;
        bool right = limit_of_a_mebibyte_holds(a) && limit_of_a_mebibyte_holds(b);
        right =
            right && tenant_open("/case/c", error) == nullptr && obj_cgroup_of(below) == obj_cgroup_of(tenant_root());
        allot_tenant *again = tenant_create_path("/case/c/below");
        right =
            right && again != nullptr && tenant_set(again, "memory.max", "1M") == 0 && limit_of_a_mebibyte_holds(again);
        right = right && tenant_destroy(a) == 0 && tenant_destroy(b) == 0;
        _exit(right && verify().differences == 0 ? 0 : 1);
    });
    BOOST_TEST((d.signal == 0 && d.status == 0), d.message);
    d = death_of([&] {
        tenant_from(below)->counter.parent = record_count<tenant>(); // created while the tables were copied
        accounting_child_start();
        _exit(tenant_from(below) == nullptr && tenant_from(c) != nullptr && verify().differences == 0 ? 0 : 1);
    });
    BOOST_TEST((d.signal == 0 && d.status == 0), d.message);
}

BOOST_AUTO_TEST_CASE(limits_hold_in_a_child_that_copies_a_file_in_which_others_work) {
    hierarchy h;
    int status = h.run([] {
        if (!accounting_start()) _exit(2);
        std::vector<allot_tenant *> tenants;
        for (int i = 0; i < 500; ++i) {
            tenants.push_back(tenant_create_path(("/t" + std::to_string(i)).c_str()));
            (void)tenant_set(tenants.back(), "memory.max", "1M");
        }
        std::atomic<bool> done{false};
        std::vector<std::thread> threads;
        for (int t = 0; t < 2; ++t)
            threads.emplace_back([&] {
                while (!done) {
                    std::vector<context *> open;
                    for (allot_tenant *one : tenants) open.push_back(context_open(obj_cgroup_of(one)));
                    for (context *c : open) context_close(c);
                }
            });
        int wrong = 0;
        for (int i = 0; i < 40; ++i) {
            death d = death_of([&] {
                accounting_child_start();
                for (allot_tenant *one : tenants)
                    if (!limit_of_a_mebibyte_holds(one)) _exit(1);
            });
            wrong += d.signal != 0 || d.status != 0;
        }
        done = true;
        for (std::thread &t : threads) t.join();
        _exit(wrong == 0 ? 0 : 1);
    });
    BOOST_TEST((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}
