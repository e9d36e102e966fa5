// A process of a shared hierarchy that does what a test tells it, one thing at a time, through accounting's own functions.
#pragma once

#include "accounting/accounting.hpp"
#include "accounting/base/mutex.hpp"
#include "accounting/base/os.hpp"
#include "accounting/drain.hpp"
#include "accounting/settle.hpp"
#include "accounting/shared/lease.hpp"
#include "accounting/shared/members.hpp"
#include "accounting/shared/nodes.hpp"
#include "accounting/shared/remote.hpp"
#include "accounting/tenant.hpp"
#include "accounting/tenant_files.hpp"
#include "tests/support/hierarchy.hpp"

#include <boost/test/unit_test.hpp>

#include <csignal>
#include <optional>
#include <string>

// A hierarchy with a limit, in which actors play; this process looks at its file.
struct stage : hierarchy {
    // The first actor makes it.
    void look() { BOOST_TEST_REQUIRE((allot::shared::is_attached() || attach())); }
    ~stage() {
        if (allot::shared::is_attached()) allot::shared::detach();
    }
    std::uint32_t node(const char *path) {
        look();
        return allot::shared::node_open(path).node;
    }
    std::uint64_t usage(const char *path) { return allot::shared::node_at(node(path)).usage.value.load(); }
    std::uint64_t unused(const char *path) { return allot::shared::unused_below(node(path)); }
};

class actor {
public:
    enum class act : long {
        take,
        give,
        lock_own,
        unlock_own,
        fork_child,
        seal_others,
        take_from_others,
        verify,
        exit,
        bytes
    };

    actor(stage &on, const char *tenant, const char *max, const char *more = "") {
        BOOST_TEST_REQUIRE((pipe(to_) == 0 && pipe(from_) == 0));
        pid_ = fork();
        if (pid_ == 0) {
            close(to_[1]);
            close(from_[0]);
            setenv("ALLOT_DIR", on.path().c_str(), 1);
            setenv("ALLOT_HIERARCHY", "h", 1);
            setenv("ALLOT_TENANT", tenant, 1);
            setenv("ALLOT_MEMORY_MAX", max, 1);
            setenv("ALLOT_CONF", more, 1);
            signal(SIGABRT, SIG_DFL);
            alarm(60);
            play();
        }
        close(to_[0]);
        close(from_[1]);
        BOOST_TEST_REQUIRE(answer() == 1);
    }
    ~actor() {
        end();
        close(to_[1]);
        close(from_[0]);
    }
    actor(const actor &) = delete;
    actor &operator=(const actor &) = delete;

    void tell(act what, long a = 0, long b = 0) {
        const long words[] = {static_cast<long>(what), a, b};
        BOOST_TEST_REQUIRE(write(to_[1], words, sizeof words) == static_cast<ssize_t>(sizeof words));
    }
    long answer() {
        long value = -1;
        BOOST_TEST_REQUIRE(read(from_[0], &value, sizeof value) == static_cast<ssize_t>(sizeof value));
        return value;
    }
    long ask(act what, long a = 0, long b = 0) {
        tell(what, a, b);
        return answer();
    }
    // How many of up to `count` objects of `bytes` were charged.
    long take(long bytes, long count) { return ask(act::take, bytes, count); }
    void give(long bytes, long count) { BOOST_TEST(ask(act::give, bytes, count) == count); }

    void stop() { kill(pid_, SIGSTOP); }
    void go_on() { kill(pid_, SIGCONT); }
    void end() {
        if (pid_ == 0) return;
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
        pid_ = 0;
        usleep(2000); // it is believed to be alive so long
    }
    int wait() {
        int status = 0;
        waitpid(pid_, &status, 0);
        pid_ = 0;
        return status;
    }
    pid_t pid() const { return pid_; }

private:
    [[noreturn]] void play() {
        using namespace allot;
        if (!accounting_start()) _exit(1);
        context *c = context_open(obj_cgroup_of(tenant_default()));
        std::optional<shared::remote_drain> others;
        std::uint32_t ticket = 0;
        reply(c != nullptr && shared::is_attached() ? 1 : 0);
        for (long words[3]; read(to_[0], words, sizeof words) == static_cast<ssize_t>(sizeof words);) {
            const long a = words[1], b = words[2];
            long value = 0;
            switch (act{words[0]}) {
            case act::take:
                while (value < b && charged(c, a)) ++value;
                break;
            case act::give:
                for (; value < b; ++value)
                    if (!context_uncharge(*c, net_of(a, 1))) context_uncharge_slow(c);
                break;
            case act::lock_own: lock_take(c->lock, lock_rank::context); break;
            case act::unlock_own: lock_give(c->lock, lock_rank::context); break;
            case act::fork_child:
                if (fork() == 0) {
                    accounting_child_start();
                    c = context_open(obj_cgroup_of(tenant_default()));
                }
                value = os_pid();
                break;
            case act::seal_others:
                ticket = shared::lease_take(tenant_from(tenant_default())->counter.node);
                others.emplace(tenant_from(tenant_default())->counter.node, ticket);
                value = others->seal() ? 1 : 0;
                break;
            case act::take_from_others:
                value = os_membarrier_of_all();
                others->take();
                value = others->all_held() ? 1 : 0;
                others->unlock();
                shared::lease_give(ticket);
                break;
            case act::verify: value = static_cast<long>(verify().differences); break;
            case act::bytes: value = static_cast<long>(tenant_current(tenant_default())); break;
            case act::exit: accounting_finish(); _exit(static_cast<int>(a));
            }
            reply(value);
        }
        _exit(0);
    }
    static bool charged(allot::context *c, long bytes) {
        using namespace allot;
        refusal r;
        do {
            if (context_charge(*c, net_of(bytes, 1)) || context_charge_slow(c, net_of(bytes, 1))) return true;
            refusal_take(*c, r);
        } while (settle_refusal(r));
        return false;
    }
    void reply(long value) {
        if (write(from_[1], &value, sizeof value) != static_cast<ssize_t>(sizeof value)) _exit(3);
    }

    int to_[2], from_[2];
    pid_t pid_;
};
