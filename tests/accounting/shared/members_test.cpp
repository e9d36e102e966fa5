#define BOOST_TEST_MODULE shared_members
#include <boost/test/unit_test.hpp>

#include "tests/support/child.hpp"
#include "tests/support/shared_tree.hpp"

#include <sched.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstdlib>
#include <cstring>
#include <thread>

using namespace allot;
using namespace allot::shared;

namespace {

// Charged 100 at /a and 10 at the root, with a chunk of contexts.
struct payer {
    explicit payer(std::uint32_t a)
        : process(root_node, [a](other_process::words &w) {
              w.a = account_open(a);
              w.b = account_open(root_node);
              if (ledger_charge(w.a, 100).is != verdict::done || ledger_charge(w.b, 10).is != verdict::done) _exit(2);
              account_at(w.a).nr_contexts.store(1);
              for (std::uint32_t n : {a, root_node}) node_at(n).nr_contexts.fetch_add(1);
              (void)chunk_open();
          }) {}
    other_process process;
    std::uint32_t member() const { return process.told->member; }
};

std::uint64_t usage_at_root() { return node_at(root_node).usage.value.load(); }

} // namespace

BOOST_FIXTURE_TEST_CASE(who_joins_is_running_with_its_name_and_alive, shared_tree) {
    member &m = member_at(this_member);
    BOOST_TEST((state_of(this_member) == member_state::running));
    BOOST_TEST(pid_in(m.identity.load()) == os_pid());
    BOOST_TEST(std::string(m.executable).find(m.name) != std::string::npos);
    BOOST_TEST(std::strlen(m.name) > 0u);
    BOOST_TEST(m.start_time.load() > 0u);
    BOOST_TEST(m.boot.load() == boot_number());
    BOOST_TEST(member_is_alive(this_member));
    BOOST_TEST(!reap(this_member));
    BOOST_TEST(next_member(1) == this_member);
    BOOST_TEST(next_member(this_member + 1) == 0u);
    BOOST_TEST(!is_tag_dead(this_tag));
    BOOST_TEST(!is_tag_dead(0));
    member_note_exit();
    BOOST_TEST((state_of(this_member) == member_state::exited));
    BOOST_TEST(member_is_alive(this_member)); // it has not ended yet
}

BOOST_FIXTURE_TEST_CASE(what_a_killed_process_had_is_gone_and_its_name_stays, shared_tree) {
    const std::uint32_t a = made("/a");
    payer p(a);
    BOOST_TEST(usage(root_node) == 110u);
    BOOST_TEST(!reap(p.member()));
    BOOST_TEST(records_of(p.member()) == 3u);
    p.process.end();
    BOOST_TEST(reap(p.member()));
    BOOST_TEST(!reap(p.member())); // nothing is left
    BOOST_TEST(usage(root_node) == 0u);
    BOOST_TEST(usage(a) == 0u);
    BOOST_TEST(node_at(a).lost.load() == 100u);
    BOOST_TEST(node_at(root_node).lost.load() == 10u);
    BOOST_TEST(node_at(a).nr_contexts.load() == 0u);
    BOOST_TEST(records_of(p.member()) == 0u);
    BOOST_TEST((state_of(p.member()) == member_state::died));
    BOOST_TEST(std::strlen(member_at(p.member()).name) > 0u);
    BOOST_TEST(head().anomalies.load() == 0u);
}

BOOST_FIXTURE_TEST_CASE(what_a_dead_process_had_announced_is_done_before_its_record_is_free, shared_tree) {
    const std::uint32_t at = account_open(root_node);
    other_process p(root_node, [&](other_process::words &) {
        operation &op = op_at(3);
        op.owner.store(two_of(this_tag, 1));
        op.account.store(at);
        op.node.store(root_node);
        op.bytes.store(300);
        head().current.store((ledger_now().number + 1) * 2 * nr_ops | nr_ops | 3);
    });
    p.end();
    BOOST_TEST(reap(p.told->member));
    BOOST_TEST(ledger_now().is_quiet);
    BOOST_TEST(charged(at) == 300u);
    BOOST_TEST(op_at(3).owner.load() == 0u);
}

BOOST_FIXTURE_TEST_CASE(who_said_that_it_exits_has_ended, shared_tree) {
    other_process p(root_node, [](other_process::words &) { member_note_exit(); });
    BOOST_TEST(member_is_alive(p.told->member));
    p.end();
    BOOST_TEST(reap(p.told->member));
    BOOST_TEST((state_of(p.told->member) == member_state::ended));
}

BOOST_FIXTURE_TEST_CASE(only_the_dead_that_have_something_there_are_reaped_for_a_tenant, shared_tree) {
    const std::uint32_t a = made("/a"), b = made("/b");
    payer p(a);
    p.process.end();
    BOOST_TEST(reap_dead(b) == 0u);
    BOOST_TEST(reap_dead(a) == 1u);
    BOOST_TEST(reap_dead(root_node) == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_zombie_is_dead, shared_tree) {
    const std::uint32_t a = made("/a");
    payer p(a);
    kill(p.process.pid, SIGKILL);
    siginfo_t info;
    waitid(P_PID, static_cast<id_t>(p.process.pid), &info, WEXITED | WNOWAIT);
    look_again_at(p.member());
    BOOST_TEST(reap(p.member()));
}

BOOST_FIXTURE_TEST_CASE(a_process_whose_main_thread_has_ended_lives_as_long_as_the_others, shared_tree) {
    other_process p(root_node, [](other_process::words &w) {
        static other_process::words *told;
        told = &w;
        std::thread([] {
            usleep(1000); // the main thread ends
            told->is_ready = 1;
            for (;;) pause();
        }).detach();
        syscall(SYS_exit, 0); // of this thread alone
    });
    const std::string path = "/proc/" + std::to_string(p.pid) + "/stat";
    char stat[1024] = {};
    for (int i = 0; i < 5000 && std::strstr(stat, ") Z ") == nullptr; ++i) {
        usleep(1000);
        (void)os_read_whole(path.c_str(), stat, sizeof stat);
    }
    BOOST_TEST(std::strstr(stat, ") Z ") != nullptr); // what it looks like
    look_again_at(p.told->member);
    BOOST_TEST(member_is_alive(p.told->member));
    p.end();
    BOOST_TEST(!member_is_alive(p.told->member));
}

BOOST_FIXTURE_TEST_CASE(what_was_seen_alive_a_moment_ago_is_believed_to_be_if_its_id_is_there, shared_tree) {
    payer p(root_node);
    kill(p.process.pid, SIGKILL);
    siginfo_t info;
    waitid(P_PID, static_cast<id_t>(p.process.pid), &info, WEXITED | WNOWAIT);
    member_at(p.member()).seen_alive.store(os_nanoseconds());
    BOOST_TEST(member_is_alive(p.member())); // a zombie, not looked at
    usleep(2000);
    BOOST_TEST(!member_is_alive(p.member()));
    member_at(p.member()).seen_alive.store(os_nanoseconds());
    waitpid(p.process.pid, nullptr, 0);
    p.process.pid = 0;
    BOOST_TEST(!member_is_alive(p.member()));
}

BOOST_FIXTURE_TEST_CASE(another_image_with_the_same_id_is_another_process, shared_tree) {
    payer p(root_node);
    member &m = member_at(p.member());
    const std::uint64_t stack = m.start_of_stack.load(), start = m.start_time.load();
    m.start_of_stack.store(stack + 4096); // as after exec
    look_again_at(p.member());
    BOOST_TEST(!member_is_alive(p.member()));
    m.start_of_stack.store(1); // hidden
    BOOST_TEST(member_is_alive(p.member()));
    m.start_time.store(start + 1); // the id was given to another
    look_again_at(p.member());
    BOOST_TEST(!member_is_alive(p.member()));
    m.start_time.store(0); // unknown: the id must do
    BOOST_TEST(member_is_alive(p.member()));
    m.pid_namespace.fetch_add(1);
    m.start_time.store(start + 1);
    look_again_at(p.member());
    BOOST_TEST(member_is_alive(p.member())); // nobody can say
    m.boot.fetch_add(1);
    look_again_at(p.member());
    BOOST_TEST(!member_is_alive(p.member()));
}

BOOST_FIXTURE_TEST_CASE(an_earlier_image_of_the_process_is_reaped_when_it_joins, shared_tree) {
    const std::uint32_t a = made("/a");
    const child_end end = in_child([&] {
        other_process::join(root_node, 0);
        const std::uint32_t before = this_member;
        if (ledger_charge(account_open(a), 1000).is != verdict::done) return 1;
        member_at(before).image.fetch_add(1); // exec
        this_member = this_tag = 0;
        if (!member_join(root_node, 0) || this_member == before) return 2;
        return usage(a) == 0 && state_of(before) == member_state::died ? 0 : 3;
    });
    BOOST_TEST(end.exited_with(0));
}

// Run by the next case alone, in the image that follows by exec.
BOOST_AUTO_TEST_CASE(the_next_image, *boost::unit_test::disabled()) {
    BOOST_TEST_REQUIRE(
        (attach(std::getenv("ALLOT_TEST_FOLDER"), "tree", if_missing::fail).error == attach_error::none));
    BOOST_TEST(usage_at_root() == 1000u);
    BOOST_TEST(member_join(root_node, 0));
    BOOST_TEST(usage_at_root() == 0u);
    detach();
}

BOOST_FIXTURE_TEST_CASE(what_is_charged_is_gone_after_exec, shared_tree) {
    for (const unsigned long addresses : {0ul, static_cast<unsigned long>(ADDR_NO_RANDOMIZE)}) {
        const child_end end = in_child([&] {
            personality(addresses);
            other_process::join(root_node, 0);
            if (ledger_charge(account_open(root_node), 1000).is != verdict::done) return 1;
            setenv("ALLOT_TEST_FOLDER", folder.c_str(), 1);
            execl("/proc/self/exe", "members", "--run_test=the_next_image", nullptr);
            return 2;
        });
        BOOST_TEST(end.exited_with(0));
        BOOST_TEST(usage(root_node) == 0u);
    }
}

BOOST_FIXTURE_TEST_CASE(a_process_of_another_pid_namespace_counts_as_alive, shared_tree) {
    const child_end end = in_child([&] {
        if (unshare(CLONE_NEWPID) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) return 0;
        const pid_t inner = fork();
        if (inner == 0) {
            other_process::join(root_node, 0); // /proc is that of the outer namespace
            const bool ours = member_is_alive(1) && this_member != 1 && member_is_alive(this_member);
            _exit(ours ? 0 : 1);
        }
        int status;
        waitpid(inner, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 9;
    });
    BOOST_TEST(end.exited_with(0));
}

// --- records of members ---

BOOST_FIXTURE_TEST_CASE(fresh_records_come_first_and_then_that_of_who_died_first, shared_tree) {
    std::vector<std::uint32_t> dead;
    for (int i = 0; i < 3; ++i) {
        other_process p(root_node, [](other_process::words &) {});
        dead.push_back(p.told->member);
        p.end();
        BOOST_TEST(reap(dead.back()));
    }
    BOOST_TEST(dead[2] == dead[0] + 2);
    head().used[static_cast<std::uint32_t>(part::members)].store(nr_members);
    for (std::uint32_t i = dead[2] + 1; i < nr_members; ++i)
        member_at(i).identity.store(identity_word(1, 1, 2));                                      // all run
    for (std::uint32_t i = dead[2] + 1; i < nr_members; ++i) member_at(i).pid_namespace.store(1); // elsewhere
    const std::uint32_t generation = generation_in(member_at(dead[0]).identity.load());
    other_process p(root_node, [](other_process::words &) {});
    BOOST_TEST(p.told->member == dead[0]);
    BOOST_TEST(generation_in(member_at(dead[0]).identity.load()) == generation + 1);
    other_process q(root_node, [](other_process::words &) {});
    BOOST_TEST(q.told->member == dead[1]);
}

BOOST_FIXTURE_TEST_CASE(a_late_reaper_does_not_meet_the_next_process_of_the_record, shared_tree) {
    const std::uint32_t a = made("/a");
    payer p(a);
    const std::uint32_t tag = high_of(account_at(p.process.told->a).owner.load());
    p.process.end();
    BOOST_TEST(reap(p.member()));
    BOOST_TEST(is_tag_dead(tag));
    // The same record of members and of accounts, at the same node, in the next life.
    head().used[static_cast<std::uint32_t>(part::members)].store(p.member() + 1);
    member_at(p.member()).identity.store(identity_word(0, generation_in(member_at(p.member()).identity.load()), 4));
    BOOST_TEST(is_tag_dead(tag));
    std::uint64_t owner = two_of(tag, a);
    const std::uint32_t at = account_open(a);
    BOOST_TEST(!account_at(at).owner.compare_exchange_strong(owner, 0));
}

// --- heirs ---

namespace {

// A process that has a hundred at /a, and copies of it that have inherited so much of that.
struct family {
    std::uint32_t a;
    other_process first;

    explicit family(std::uint32_t node, std::vector<std::int64_t> inherited)
        : a(node), first(node, [&](other_process::words &w) {
              const std::uint32_t at = account_open(node), me = this_member;
              if (ledger_charge(at, 100).is != verdict::done) _exit(2);
              for (std::size_t i = 0; i < inherited.size(); ++i) {
                  if (fork() == 0) {
                      prctl(PR_SET_PDEATHSIG, 0);
                      other_process::join(node, me);
                      account_at(account_open(node)).inherited.store(inherited[i]);
                      w.nr_children.fetch_add(1);
                      for (;;) pause();
                  }
                  while (w.nr_children.load() != i + 1) usleep(50);
              }
          }) {}
    ~family() {
        for (std::uint32_t i = next_member(1); i != 0; i = next_member(i + 1))
            if (i != this_member) kill(static_cast<pid_t>(pid_in(member_at(i).identity.load())), SIGKILL);
    }
    std::uint32_t copy(std::uint32_t nth) const { return first.told->member + nth; }
    std::uint32_t account_of(std::uint32_t m) const {
        std::uint32_t found = 0;
        for_accounts([&](std::uint32_t i, const account &, std::uint32_t owner) {
            if (owner == m) found = i;
        });
        return found;
    }
    // Until its last thread has ended, which takes a moment.
    static void end(std::uint32_t m) {
        const auto pid = static_cast<pid_t>(pid_in(member_at(m).identity.load()));
        kill(pid, SIGKILL);
        while (member_is_alive(m)) {
            usleep(100);
            shared_tree::look_again_at(m);
        }
        waitpid(pid, nullptr, WNOHANG);
    }
};

struct with_orphans : shared_tree {
    with_orphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(what_a_living_copy_has_inherited_passes_to_the_oldest_one, with_orphans) {
    const std::uint32_t a = made("/a");
    family f(a, {30, 40});
    f.end(f.first.told->member);
    BOOST_TEST(reap(f.first.told->member));
    const std::uint32_t heir = f.account_of(f.copy(1)), other = f.account_of(f.copy(2));
    BOOST_TEST(charged(heir) == 30u);
    BOOST_TEST(account_unsettled(account_at(heir)) == 30u);
    BOOST_TEST(charged(other) == 0u);
    BOOST_TEST(usage(root_node) == 30u);
    BOOST_TEST(node_at(a).lost.load() == 70u);
    account_settle(heir); // as it would itself
    BOOST_TEST(account_at(heir).inherited.load() == 0);
    BOOST_TEST(account_at(heir).lines.settled_bytes.load() == 30);
    f.end(f.copy(1));
    BOOST_TEST(reap(f.copy(1)));
    BOOST_TEST(usage(root_node) == 0u);
}

BOOST_FIXTURE_TEST_CASE(no_more_passes_than_the_dead_one_had, with_orphans) {
    const std::uint32_t a = made("/a");
    family f(a, {500});
    f.end(f.first.told->member);
    BOOST_TEST(reap(f.first.told->member));
    BOOST_TEST(charged(f.account_of(f.copy(1))) == 100u);
    BOOST_TEST(node_at(a).lost.load() == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_dead_copy_inherits_nothing_and_nor_does_one_that_has_freed_all, with_orphans) {
    const std::uint32_t a = made("/a");
    family f(a, {30, 0, 20});
    f.end(f.copy(1));
    f.end(f.first.told->member);
    BOOST_TEST(reap_dead(a) == 2u);
    BOOST_TEST(charged(f.account_of(f.copy(3))) == 20u);
    BOOST_TEST(usage(root_node) == 20u);
}

BOOST_FIXTURE_TEST_CASE(a_copy_of_a_copy_inherits_where_the_one_between_is_dead, with_orphans) {
    const std::uint32_t a = made("/a");
    family f(a, {30, 25});
    // The second as a copy of the first.
    member_at(f.copy(2)).copy_of.store(f.copy(1));
    member_at(f.copy(2)).copy_of_generation.store(generation_in(member_at(f.copy(1)).identity.load()));
    f.end(f.first.told->member);
    BOOST_TEST(reap(f.first.told->member));
    BOOST_TEST(charged(f.account_of(f.copy(1))) == 30u); // parent, then middle, then grandchild
    f.end(f.copy(1));
    BOOST_TEST(reap(f.copy(1)));
    BOOST_TEST(charged(f.account_of(f.copy(2))) == 25u);
    BOOST_TEST(usage(root_node) == 25u);
}

BOOST_FIXTURE_TEST_CASE(it_inherits_too_where_the_one_between_died_first, with_orphans) {
    const std::uint32_t a = made("/a");
    family f(a, {30, 25});
    member_at(f.copy(2)).copy_of.store(f.copy(1));
    member_at(f.copy(2)).copy_of_generation.store(generation_in(member_at(f.copy(1)).identity.load()));
    f.end(f.copy(1));
    BOOST_TEST(reap(f.copy(1)));
    f.end(f.first.told->member);
    BOOST_TEST(reap(f.first.told->member));
    BOOST_TEST(charged(f.account_of(f.copy(2))) == 25u);
    BOOST_TEST(usage(root_node) == 25u);
}

BOOST_FIXTURE_TEST_CASE(who_is_no_copy_of_the_dead_one_inherits_nothing, with_orphans) {
    const std::uint32_t a = made("/a");
    family f(a, {30});
    member_at(f.copy(1)).copy_of_generation.fetch_add(1); // of the record's last process
    f.end(f.first.told->member);
    BOOST_TEST(reap(f.first.told->member));
    BOOST_TEST(usage(root_node) == 0u);
}

BOOST_FIXTURE_TEST_CASE(two_reapers_at_once_do_each_step_once, with_orphans) {
    const std::uint32_t a = made("/a");
    for (int round = 0; round < 20; ++round) {
        family f(a, {30});
        f.end(f.first.told->member);
        std::vector<std::thread> reapers;
        std::atomic<int> done{0};
        for (int i = 0; i < 4; ++i) reapers.emplace_back([&] { done += reap(f.first.told->member); });
        for (std::thread &t : reapers) t.join();
        BOOST_TEST(done == 1);
        BOOST_TEST(usage(root_node) == 30u);
        BOOST_TEST(node_at(a).lost.load() ==
                   70u * static_cast<unsigned>(round + 1) + 30u * static_cast<unsigned>(round));
        f.end(f.copy(1));
        BOOST_TEST(reap(f.copy(1)));
        BOOST_TEST(usage(root_node) == 0u);
    }
}
