#define BOOST_TEST_MODULE listeners
#include <boost/test/unit_test.hpp>

#include "accounting/listeners.hpp"

#include "accounting/base/os.hpp"
#include "accounting/thread_charges.hpp"
#include "tests/support/child.hpp"
#include "tests/support/verified.hpp"

#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace allot;

namespace {

constexpr std::uint32_t bit(allot_event e) { return ALLOT_EVENT_BIT(e); }

void count(allot_tenant *t, allot_event e) {
    signals_blocked quiet;
    lock_scope registry(region().registry_lock.word, lock_rank::registry);
    count_event(*tenant_from(t), e);
}

// Counts an event and delivers it, as the thread that causes one does.
void cause(allot_tenant *t, allot_event e) {
    count(t, e);
    deliver_events(t);
}

struct told {
    std::atomic<std::uint64_t> calls{0}, counts[allot_nr_events] = {};
    std::atomic<allot_tenant *> tenant{nullptr};

    static void call(allot_tenant *t, allot_event e, std::uint64_t n, void *me) {
        auto &self = *static_cast<told *>(me);
        self.tenant = t;
        ++self.calls;
        self.counts[e] += n;
    }
};

std::uint64_t read_events(int fd) {
    std::uint64_t sum = 0;
    return read(fd, &sum, sizeof sum) == sizeof sum ? sum : 0;
}

} // namespace

BOOST_FIXTURE_TEST_CASE(events_of_the_tenant_and_below_are_told_and_no_others, verified) {
    allot_tenant *a = make("/case/a"), *b = make("/case/a/b"), *other = make("/case/other");
    told t;
    int id = listener_add(a, bit(allot_event_max) | bit(allot_event_oom), told::call, &t);
    BOOST_TEST_REQUIRE(id > 0);
    cause(b, allot_event_max);
    BOOST_TEST(t.counts[allot_event_max] == 1u);
    BOOST_TEST(t.tenant.load() == a);
    cause(a, allot_event_oom);
    BOOST_TEST(t.counts[allot_event_oom] == 1u);
    cause(a, allot_event_high);
    cause(other, allot_event_max);
    cause(top, allot_event_max);
    BOOST_TEST(t.calls == 2u);
    BOOST_TEST(listener_remove(id) == 0);
    cause(a, allot_event_max);
    BOOST_TEST(t.calls == 2u);
}

BOOST_FIXTURE_TEST_CASE(several_at_once_may_be_one_call_and_none_is_lost_or_told_twice, verified) {
    told t;
    count(top, allot_event_max); // before it is registered
    int id = listener_add(top, bit(allot_event_max), told::call, &t);
    for (int i = 0; i < 5; ++i) count(top, allot_event_max);
    deliver_events(top);
    deliver_events(top);
    BOOST_TEST(t.calls == 1u);
    BOOST_TEST(t.counts[allot_event_max] == 5u);
    BOOST_TEST(listener_remove(id) == 0);
}

BOOST_FIXTURE_TEST_CASE(wrong_arguments_and_stale_ids_are_refused, verified) {
    told t;
    BOOST_TEST(listener_add(top, 0, told::call, &t) == -EINVAL);
    BOOST_TEST(listener_add(top, 1u << 31, told::call, &t) == -EINVAL);
    BOOST_TEST(listener_add(top, bit(allot_event_max), nullptr, &t) == -EINVAL);
    BOOST_TEST(event_descriptor_add(top, 0) == -EINVAL);
    allot_tenant *a = make("/case/a");
    int id = listener_add(a, bit(allot_event_max), told::call, &t);
    BOOST_TEST(listener_remove(id) == 0);
    BOOST_TEST(listener_remove(id) == -ESTALE);
    BOOST_TEST(listener_remove(0) == -ENOENT);
    int with_tenant = listener_add(a, bit(allot_event_max), told::call, &t);
    BOOST_TEST(tenant_destroy(a) == 0);
    BOOST_TEST(listener_remove(with_tenant) == -ESTALE);
    BOOST_TEST(listener_add(a, bit(allot_event_max), told::call, &t) == -ESTALE);
    BOOST_TEST(event_descriptor_add(a, bit(allot_event_max)) == -ESTALE);
    BOOST_TEST(event_descriptor_remove(-1) == -EBADF);
    BOOST_TEST(event_descriptor_remove(1) == -EBADF);
    cause(top, allot_event_max);
    BOOST_TEST(t.calls == 0u);
}

// --- from within ------------------------------------------------------------------------------------------------------

namespace {

struct meddler {
    allot_tenant *tenant;
    int id = 0, second = 0, calls = 0;
    bool was_in_user_code = false;

    static void ends_itself(allot_tenant *, allot_event, std::uint64_t, void *me) {
        auto &self = *static_cast<meddler *>(me);
        ++self.calls;
        BOOST_TEST(listener_remove(self.id) == 0);
        BOOST_TEST(listener_remove(self.id) == -ESTALE);
    }
    // No lock is held: everything that takes one can be called, and the tenant itself can go.
    static void calls_everything(allot_tenant *t, allot_event, std::uint64_t, void *me) {
        auto &self = *static_cast<meddler *>(me);
        ++self.calls;
        self.was_in_user_code = (charges_here.flags & in_user_code) != 0;
        BOOST_TEST(!holds_locks());
        BOOST_TEST(tenant_set(t, "memory.max", "1G") == 0);
        BOOST_TEST(verified::get(t, "memory.stat") != "");
        int error = 0;
        BOOST_TEST(tenant_create(t, "child", error) != nullptr);
        BOOST_TEST(tenant_destroy(tenant_create_path("/case/a/child")) == 0);
        allot_tenant *sibling = tenant_create_path("/case/sibling");
        self.second = listener_add(sibling, bit(allot_event_max), calls_everything, me);
        BOOST_TEST(verify().differences == 0u);
        BOOST_TEST(charge_bytes(obj_cgroup_of(t), 4096, charge_kind::external));
        uncharge_bytes(obj_cgroup_of(t), 4096, charge_kind::external);
        cause(t, allot_event_max);
        BOOST_TEST(tenant_destroy(sibling) == 0);
        BOOST_TEST(tenant_destroy(t) == 0);
    }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(a_callback_may_end_itself, verified) {
    meddler m{top};
    told after;
    int other = listener_add(top, bit(allot_event_max), told::call, &after);
    m.id = listener_add(top, bit(allot_event_max), meddler::ends_itself, &m);
    cause(top, allot_event_max);
    cause(top, allot_event_max);
    BOOST_TEST(m.calls == 1);
    BOOST_TEST(after.counts[allot_event_max] == 2u);
    BOOST_TEST(listener_remove(other) == 0);
}

BOOST_FIXTURE_TEST_CASE(a_callback_may_call_everything_and_destroy_its_tenant, verified) {
    allot_tenant *a = make("/case/a");
    meddler m{a};
    told of_top;
    int outer = listener_add(top, bit(allot_event_max), told::call, &of_top);
    int id = listener_add(a, bit(allot_event_max), meddler::calls_everything, &m);
    cause(a, allot_event_max);
    BOOST_TEST(m.calls == 1); // not again from within, although it caused one
    BOOST_TEST(m.was_in_user_code);
    BOOST_TEST((charges_here.flags & in_user_code) == 0);
    BOOST_TEST(listener_remove(id) == -ESTALE);
    deliver_events(top);
    BOOST_TEST(of_top.counts[allot_event_max] == 2u);
    BOOST_TEST(listener_remove(outer) == 0);
}

// --- threads ----------------------------------------------------------------------------------------------------------

BOOST_FIXTURE_TEST_CASE(many_threads_cause_and_each_event_is_told_once, verified) {
    constexpr int nr_threads = 4, nr_each = 2000;
    told t;
    allot_tenant *a = make("/case/a");
    int id = listener_add(top, bit(allot_event_max), told::call, &t);
    std::vector<std::thread> threads;
    for (int i = 0; i < nr_threads; ++i)
        threads.emplace_back([&] {
            for (int n = 0; n < nr_each; ++n) cause(a, allot_event_max);
        });
    for (std::thread &thread : threads) thread.join();
    BOOST_TEST(t.counts[allot_event_max] == std::uint64_t{nr_threads * nr_each});
    BOOST_TEST(listener_remove(id) == 0);
}

namespace {

// What a callback uses is freed as soon as its end has returned.
struct guarded {
    std::atomic<bool> is_freed{false};
    static void call(allot_tenant *, allot_event, std::uint64_t, void *me) {
        for (int i = 0; i < 50; ++i) {
            if (static_cast<guarded *>(me)->is_freed) std::abort();
            os_pause();
        }
    }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(after_its_end_no_thread_is_in_a_callback, verified) {
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i)
        threads.emplace_back([&] {
            while (!stop) cause(top, allot_event_max);
        });
    for (int i = 0; i < 500; ++i) {
        guarded g;
        int id = listener_add(top, bit(allot_event_max), guarded::call, &g);
        std::this_thread::yield();
        BOOST_TEST_REQUIRE(listener_remove(id) == 0);
        g.is_freed = true;
    }
    stop = true;
    for (std::thread &thread : threads) thread.join();
}

BOOST_FIXTURE_TEST_CASE(after_a_tenants_end_no_thread_is_in_its_callbacks, verified) {
    std::atomic<bool> stop{false};
    std::atomic<allot_tenant *> current{make("/case/a")};
    std::thread causer([&] {
        while (!stop) {
            signals_blocked quiet;
            allot_tenant *t = current;
            {
                lock_scope registry(region().registry_lock.word, lock_rank::registry);
                if (tenant *living = tenant_from(t)) count_event(*living, allot_event_max);
            }
            deliver_events(t);
        }
    });
    for (int i = 0; i < 300; ++i) {
        guarded g;
        allot_tenant *t = make("/case/a");
        current = t;
        BOOST_TEST_REQUIRE(listener_add(t, bit(allot_event_max), guarded::call, &g) > 0);
        std::this_thread::yield();
        BOOST_TEST_REQUIRE(tenant_destroy(t) == 0);
        g.is_freed = true;
    }
    stop = true;
    causer.join();
}

// --- descriptors ------------------------------------------------------------------------------------------------------

BOOST_FIXTURE_TEST_CASE(an_event_loop_is_woken_and_reads_how_many, verified) {
    int fd = event_descriptor_add(top, bit(allot_event_max) | bit(allot_event_oom));
    BOOST_TEST_REQUIRE(fd >= 0);
    BOOST_TEST((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    int loop = epoll_create1(EPOLL_CLOEXEC);
    epoll_event interest{.events = EPOLLIN, .data = {.fd = fd}}, got{};
    BOOST_TEST_REQUIRE(epoll_ctl(loop, EPOLL_CTL_ADD, fd, &interest) == 0);
    BOOST_TEST(epoll_wait(loop, &got, 1, 0) == 0);
    std::thread causer([&] {
        for (int i = 0; i < 3; ++i) cause(top, allot_event_max);
        cause(top, allot_event_oom);
        cause(top, allot_event_high);
    });
    BOOST_TEST(epoll_wait(loop, &got, 1, 10'000) == 1);
    causer.join();
    BOOST_TEST(read_events(fd) == 4u);
    BOOST_TEST(read_events(fd) == 0u); // and does not block
    BOOST_TEST(event_descriptor_remove(fd) == 0);
    BOOST_TEST(fcntl(fd, F_GETFD) == -1);
    BOOST_TEST(event_descriptor_remove(fd) == -EBADF);
    close(loop);
}

// Where no callback may be called: it may be the one event that the loop waits for.
BOOST_FIXTURE_TEST_CASE(an_event_loop_is_woken_also_from_user_code_and_by_charges_in_a_hurry, verified) {
    told t;
    int id = listener_add(top, bit(allot_event_oom), told::call, &t);
    int fd = event_descriptor_add(top, bit(allot_event_oom));
    {
        user_code_scope user_code;
        cause(top, allot_event_oom);
    }
    BOOST_TEST(read_events(fd) == 1u);
    {
        charge_mode_scope hurry(charge_mode::nowait);
        cause(top, allot_event_oom);
    }
    BOOST_TEST(read_events(fd) == 1u);
    BOOST_TEST(t.calls == 0u);
    cause(top, allot_event_oom); // and here it hears of all three
    BOOST_TEST(t.counts[allot_event_oom] == 3u);
    BOOST_TEST(event_descriptor_remove(fd) == 0);
    BOOST_TEST(listener_remove(id) == 0);
}

// The number may be a log file's next.
BOOST_FIXTURE_TEST_CASE(a_number_that_was_just_closed_is_not_written_to, verified) {
    int fd = event_descriptor_add(top, bit(allot_event_max));
    close(fd);
    int ends[2];
    BOOST_TEST_REQUIRE(pipe2(ends, O_NONBLOCK) == 0);
    BOOST_TEST_REQUIRE(dup2(ends[1], fd) == fd);
    cause(top, allot_event_max);
    char byte;
    BOOST_TEST(read(ends[0], &byte, 1) == -1);
    close(fd);
    close(ends[0]);
    close(ends[1]);
    int again = event_descriptor_add(top, bit(allot_event_max)); // the same number: the first one ends
    BOOST_TEST(again == fd);
    cause(top, allot_event_max);
    BOOST_TEST(read_events(again) == 1u);
    BOOST_TEST(event_descriptor_remove(again) == 0);
}

// Eventfds have one inode together. The program may close all that it does not know, and open some of its own.
BOOST_FIXTURE_TEST_CASE(an_eventfd_of_the_programs_own_is_neither_written_to_nor_closed, verified) {
    int fd = event_descriptor_add(top, bit(allot_event_max));
    int ours = 3;
    while (ours < 2000 && (ours == fd || os_identity_of(ours).signal != os_identity_of(fd).signal)) ++ours;
    BOOST_TEST_REQUIRE(ours < 2000);
    int another = eventfd(0, EFD_NONBLOCK);
    BOOST_TEST_REQUIRE(dup2(another, ours) == ours);
    cause(top, allot_event_max);
    BOOST_TEST(read_events(another) == 0u);
    BOOST_TEST(event_descriptor_remove(fd) == 0);
    BOOST_TEST(fcntl(ours, F_GETFD) != -1);
    close(ours);
    close(another);
}

BOOST_FIXTURE_TEST_CASE(a_later_descriptor_that_takes_the_place_of_a_closed_one_hears_its_own_events_alone, verified) {
    allot_tenant *a = make("/case/a"), *b = make("/case/b");
    int first = event_descriptor_add(a, bit(allot_event_max));
    for (int fd = 3; fd < 2000; ++fd) // as a program that becomes a daemon
        if (os_identity_of(fd).signal == os_identity_of(first).signal && fd != first) close(fd);
    close(first);
    int second = event_descriptor_add(b, bit(allot_event_max));
    cause(a, allot_event_max);
    BOOST_TEST(read_events(second) == 0u);
    cause(b, allot_event_max);
    BOOST_TEST(read_events(second) == 1u);
    BOOST_TEST(event_descriptor_remove(second) == 0);
}

BOOST_FIXTURE_TEST_CASE(without_descriptors_left_it_says_so, verified) {
    child_end end = in_child([] {
        allot_tenant *t = tenant_create_path("/case");
        for (int i = 0; i < 100'000; ++i) {
            int fd = event_descriptor_add(t, bit(allot_event_max));
            if (fd < 0) return fd == -EMFILE ? 0 : 1;
        }
        return 2;
    });
    BOOST_TEST(end.exited_with(0));
}

// --- fork -------------------------------------------------------------------------------------------------------------

BOOST_FIXTURE_TEST_CASE(a_child_has_the_callbacks_but_not_the_descriptors, verified) {
    static told t;
    for (int i = 0; i < 3; ++i) count(top, allot_event_max); // the child begins at zero
    int id = listener_add(top, bit(allot_event_max), told::call, &t);
    int fd = event_descriptor_add(top, bit(allot_event_max));
    child_end end = in_child([id] {
        accounting_start();
        allot_tenant *own = tenant_create_path("/case");
        cause(own, allot_event_max);
        if (t.calls != 1 || t.counts[allot_event_max] != 1) return 1;
        if (listener_remove(id) != 0) return 2;
        cause(own, allot_event_max);
        return t.calls == 1 ? 0 : 3;
    });
    BOOST_TEST(end.exited_with(0));
    BOOST_TEST(read_events(fd) == 0u);
    BOOST_TEST(event_descriptor_remove(fd) == 0);
    BOOST_TEST(listener_remove(id) == 0);
}

namespace {

struct forker {
    int status = -1;
    static void call(allot_tenant *, allot_event, std::uint64_t, void *me) {
        auto &self = *static_cast<forker *>(me);
        self.status = in_child([] {
                          accounting_start();
                          told t;
                          allot_tenant *own = tenant_create_path("/case");
                          int id = listener_add(own, bit(allot_event_max), told::call, &t);
                          return listener_remove(id) == 0 ? 0 : 1;
                      }).status;
    }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(a_callback_may_fork, verified) {
    forker f;
    int id = listener_add(top, bit(allot_event_max), forker::call, &f);
    cause(top, allot_event_max);
    BOOST_TEST(f.status == 0);
    BOOST_TEST(listener_remove(id) == 0);
}

// Its other threads are amid registering and calling at that moment.
BOOST_FIXTURE_TEST_CASE(forks_amid_registrations_leave_the_child_whole, verified) {
    std::atomic<bool> stop{false};
    static told t;
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i)
        threads.emplace_back([&] {
            while (!stop) {
                int id = listener_add(top, bit(allot_event_max), told::call, &t);
                cause(top, allot_event_max);
                (void)listener_remove(id);
            }
        });
    for (int i = 0; i < 50; ++i) {
        child_end end = in_child([] {
            accounting_start();
            allot_tenant *own = tenant_create_path("/case");
            t.calls = 0;
            told mine;
            int id = listener_add(own, bit(allot_event_max), told::call, &mine);
            cause(own, allot_event_max);
            if (mine.calls != 1) return 1;
            return listener_remove(id) == 0 ? 0 : 2;
        });
        BOOST_TEST_REQUIRE(end.exited_with(0), i);
    }
    stop = true;
    for (std::thread &thread : threads) thread.join();
}
