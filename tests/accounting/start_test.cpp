#define BOOST_TEST_MODULE start
#include <boost/test/unit_test.hpp>

#include "accounting/base/os.hpp"
#include "accounting/shared/members.hpp"
#include "accounting/shared/nodes.hpp"
#include "tests/support/dying.hpp"
#include "tests/support/hierarchy.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/verified.hpp"

#include <sys/resource.h>

#include <atomic>
#include <thread>
#include <vector>

using namespace allot;

// Each case starts in a child of its own, since a process starts once.

BOOST_AUTO_TEST_CASE(the_settings_make_the_tenant_its_parents_and_its_limits) {
    death d = death_of([] {
        setenv("ALLOT_TENANT", "/web/api", 1);
        setenv("ALLOT_MEMORY_MAX", "10M", 1);
        setenv("ALLOT_MEMORY_LOW", "1M", 1);
        setenv("ALLOT_OOM", "abort", 1);
        setenv("ALLOT_TREE", "/web memory.max=64M;/other", 1);
        int error = 0;
        bool right = accounting_start() && tenant_default() == tenant_open("/web/api", error) &&
                     verified::get(tenant_default(), "memory.max") == "10485760\n" &&
                     verified::get(tenant_default(), "memory.low") == "1048576\n" &&
                     verified::get(tenant_default(), "memory.oom.policy") == "abort\n" &&
                     verified::get(tenant_open("/web", error), "memory.max") == "67108864\n" &&
                     tenant_open("/other", error) != nullptr && verify().differences == 0;
        _exit(right ? 0 : 1);
    });
    BOOST_TEST((d.signal == 0 && d.status == 0), d.message);
    BOOST_TEST(d.message == "");
}

BOOST_AUTO_TEST_CASE(the_tenant_of_the_process_may_be_said_later) {
    hierarchy h;
    death d = death_of([&] {
        setenv("ALLOT_DIR", h.path().c_str(), 1);
        setenv("ALLOT_HIERARCHY", "h", 1);
        if (!accounting_start()) _exit(1);
        allot_tenant *own = tenant_create_path("/own");
        tenant_set_default(own);
        if (tenant_default() != own) _exit(2);
        _exit(verified::get(own, "cgroup.procs") == std::to_string(getpid()) + "\n" &&
                      verified::get(tenant_root(), "cgroup.procs") == ""
                  ? 0
                  : 3);
    });
    BOOST_TEST((d.signal == 0 && d.status == 0), d.message);
}

// Not by whoever has its record next.
BOOST_AUTO_TEST_CASE(a_destroyed_tenant_of_the_process_is_stood_for_by_its_parent) {
    death d = death_of([] {
        setenv("ALLOT_TENANT", "/web/api", 1);
        int error = 0;
        if (!accounting_start() || tenant_destroy(tenant_default()) != 0) _exit(1);
        allot_tenant *web = tenant_open("/web", error);
        if (tenant_default() != web) _exit(2);
        for (int i = 0; i < 10; ++i)
            if (tenant_create_path(("/other/" + std::to_string(i)).c_str()) == nullptr) _exit(3);
        if (tenant_default() != web) _exit(4);
        if (tenant_destroy(web) != 0 || tenant_create_path("/another") == nullptr) _exit(5);
        _exit(tenant_default() == tenant_root() ? 0 : 6);
    });
    BOOST_TEST((d.signal == 0 && d.status == 0), d.message);
}

BOOST_AUTO_TEST_CASE(the_settings_say_what_a_refusal_leads_to_and_what_fails) {
    death d = death_of([] {
        setenv("ALLOT_TENANT", "/web", 1);
        setenv("ALLOT_MEMORY_HEADROOM", "64K", 1);
        setenv("ALLOT_OOM", "kill", 1);
        setenv("ALLOT_OOM_GROUP", "1", 1);
        setenv("ALLOT_FAIL_AFTER", "2+:/plugin/a", 1);
        int error = 0;
        bool right = accounting_start() && verified::get(tenant_default(), "memory.headroom") == "65536\n" &&
                     verified::get(tenant_default(), "memory.oom.policy") == "kill\n" &&
                     verified::get(tenant_default(), "memory.oom.group") == "1\n" &&
                     verified::get(tenant_default(), "memory.fail") == "none\n" &&
                     verified::get(tenant_open("/plugin/a", error), "memory.fail") == "2+\n";
        _exit(right ? 0 : 1);
    });
    BOOST_TEST((d.signal == 0 && d.status == 0), d.message);
    BOOST_TEST(d.message == "");
}

BOOST_AUTO_TEST_CASE(threads_may_race_to_be_the_first) {
    death d = death_of([] {
        std::atomic<int> started{0};
        std::vector<std::thread> threads;
        for (int t = 0; t < 8; ++t)
            threads.emplace_back([&] {
                if (accounting_start() && tenant_root() != nullptr &&
                    context_open(obj_cgroup_of(tenant_root())) != nullptr)
                    started++;
            });
        for (std::thread &t : threads) t.join();
        _exit(started == 8 && verify().differences == 0 ? 0 : 1);
    });
    BOOST_TEST((d.signal == 0 && d.status == 0), d.message);
}

BOOST_AUTO_TEST_CASE(a_hierarchy_that_cannot_be_written_leaves_private_books_and_one_warning) {
    death d = death_of([] {
        setenv("ALLOT_DIR", "/proc/nowhere", 1);
        setenv("ALLOT_HIERARCHY", "h", 1);
        setenv("ALLOT_MEMORY_MAX", "1M", 1);
        if (!accounting_start()) _exit(1);
        context *c = context_open(obj_cgroup_of(tenant_default()));
        _exit(charge(c, 1 << 20) && !charge(c, 16) ? 0 : 1);
    });
    BOOST_TEST((d.signal == 0 && d.status == 0), d.message);
    BOOST_TEST(d.message.find("its limits hold for it alone\n") != std::string::npos, d.message);
}

BOOST_AUTO_TEST_CASE(a_limit_on_file_sizes_does_not_kill_and_leaves_no_file) {
    hierarchy h;
    int status = h.run([] {
        rlimit small{100000, 100000};
        setrlimit(RLIMIT_FSIZE, &small);
        close(2); // the warning is the case above
        if (!accounting_start()) _exit(1);
        context *c = context_open(obj_cgroup_of(tenant_default()));
        _exit(charge(c, 4096) && verify().differences == 0 ? 0 : 1);
    });
    BOOST_TEST((WIFEXITED(status) && WEXITSTATUS(status) == 0));
    BOOST_TEST(h.files().empty());
}

BOOST_AUTO_TEST_CASE(an_excluded_program_with_a_limit_gets_one_warning_but_not_in_a_hierarchy) {
    const auto excluded = [](const char *hierarchy) {
        return death_of([hierarchy] {
            setenv("ALLOT_EXCLUDE", "start_test", 1);
            setenv("ALLOT_MEMORY_MAX", "1M", 1);
            setenv("ALLOT_HIERARCHY", hierarchy, 1);
            _exit(accounting_start() || accounting_start() ? 1 : 0);
        });
    };
    BOOST_TEST(excluded("").message == "allot: warning: start_test runs without limits: it is excluded\n");
    BOOST_TEST(excluded("h").message == "");
}

BOOST_AUTO_TEST_CASE(an_excluded_program_is_not_counted) {
    death d = death_of([] {
        setenv("ALLOT_EXCLUDE", "start_test", 1);
        _exit(accounting_start() ? 1 : 0);
    });
    BOOST_TEST((d.signal == 0 && d.status == 0), d.message);
}

BOOST_AUTO_TEST_CASE(an_address_space_of_64_MiB_suffices,
                     *boost::unit_test::precondition(address_space_can_be_limited)) {
    death d = death_of([] {
        rlimit small{64u << 20, 64u << 20};
        setrlimit(RLIMIT_AS, &small);
        if (!accounting_start()) _exit(1);
        for (int i = 0; i < 5000; ++i)
            if (tenant_create_path(("/t" + std::to_string(i)).c_str()) == nullptr) _exit(2);
        _exit(0);
    });
    BOOST_TEST((d.signal == 0 && d.status == 0), d.message);
}

namespace {

// In a child that has a parent with a region in a file: whether the parent's books and record stay as they were while the
// parent's own child runs code as the first thing it does.
template<class Code>
int parent_stays_as_it_was(Code code, const char *max) {
    if (!accounting_start() || !charge_bytes(obj_cgroup_of(tenant_root()), 4096, charge_kind::external)) return 2;
    // Another thread of the parent is amid everything when it forks.
    lock_line *held[] = {&region().drain_lock, &region().registry_lock, &region().direct_locks[0]};
    std::atomic<bool> has_them{false}, done{false};
    std::thread holder([&] {
        for (lock_line *line : held) line->word = os_tid();
        has_them = true;
        while (!done) os_yield();
        for (lock_line *line : held) line->word = 0;
    });
    while (!has_them) os_yield();
    pid_t child = fork();
    if (child == 0) {
        code();
        _exit(0);
    }
    int status = 0;
    // Who waits for a lock has its signals blocked, but for this one.
    for (int ms = 0; waitpid(child, &status, WNOHANG) == 0; ++ms) {
        if (ms == 5000) kill(child, SIGKILL);
        usleep(1000);
    }
    done = true;
    holder.join();
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return 3;
    (void)shared::reap_dead(shared::root_node);
    return tenant_current(tenant_root()) == 4096 && verified::get(tenant_root(), "memory.max") == max ? 0 : 5;
}

} // namespace

BOOST_AUTO_TEST_CASE(whatever_a_forked_child_calls_first_its_parents_books_stay) {
    const auto ends_with = [](auto code, const char *max = "max\n") {
        hierarchy h;
        int status = h.run([&] { _exit(parent_stays_as_it_was(code, max)); });
        return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
    };
    BOOST_TEST(ends_with([] {
                   if (allot_tenant_current(nullptr) != 4096) _exit(1); // the parent's, whose tree it is too
               }) == 0);
    BOOST_TEST(ends_with([] {
                   if (allot_try_charge(nullptr, 8192) != 0 || allot_tenant_current(nullptr) != 4096 + 8192) _exit(1);
               }) == 0);
    BOOST_TEST(ends_with(
                   [] {
                       if (allot_tenant_set(nullptr, "memory.max", "1M") != 0) _exit(1);
                   },
                   "1048576\n") == 0);
    BOOST_TEST(ends_with([] { accounting_seccomp_seen(); }) == 0);
    BOOST_TEST(ends_with([] { accounting_finish(); }) == 0);
}
