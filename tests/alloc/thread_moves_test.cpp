#define BOOST_TEST_MODULE thread_moves
#include <boost/test/unit_test.hpp>

#include "accounting/base/os.hpp"
#include "alloc/active_scope.hpp"
#include "alloc/thread_moves.hpp"
#include "tests/support/allocated.hpp"
#include "tests/support/child.hpp"

#include <atomic>
#include <barrier>
#include <cerrno>
#include <chrono>
#include <functional>
#include <map>
#include <thread>
#include <vector>

using namespace allot;

namespace {

// A thread that does what it is told.
class worker {
public:
    worker() {
        thread_ = std::thread([this] {
            id_ = os_tid();
            steps_.arrive_and_wait();
            for (;;) {
                steps_.arrive_and_wait();
                if (stop_) return;
                task_();
                steps_.arrive_and_wait();
            }
        });
        steps_.arrive_and_wait();
    }
    ~worker() {
        stop_ = true;
        steps_.arrive_and_wait();
        thread_.join();
    }
    template<class Task>
    void run(Task task) {
        task_ = task;
        steps_.arrive_and_wait();
        steps_.arrive_and_wait();
    }
    std::uint32_t id() const { return id_; }

private:
    std::barrier<> steps_{2};
    std::function<void()> task_;
    bool stop_ = false;
    std::uint32_t id_ = 0;
    std::thread thread_;
};

std::map<std::uint32_t, allot_tenant *> listed() {
    std::map<std::uint32_t, allot_tenant *> found;
    threads_list([](void *state, std::uint32_t id,
                    allot_tenant *t) { (*static_cast<std::map<std::uint32_t, allot_tenant *> *>(state))[id] = t; },
                 &found);
    return found;
}

bool has_home(std::uint32_t thread_id) {
    for (home *h = homes_first(); h != nullptr; h = h->next_home)
        if (h->thread_id == thread_id) return true;
    return false;
}

} // namespace

// The first case, so that the thread finds no home to move into: it makes one, and waits for the registry, to open a context,
// while it is asked. The request must not be passed by when it writes its pointer.
BOOST_FIXTURE_TEST_CASE(a_move_amid_the_first_call_of_a_thread_is_served, allocated) {
    allot_tenant *a = make("/case/a"), *active = nullptr;
    std::atomic<std::uint32_t> id{0};
    std::atomic<bool> go{false};
    std::thread target([&] {
        id = os_tid();
        while (!go) os_yield();
        for (int i = 0; i < 2; ++i) heap_free(heap_malloc(16));
        active = heap_active();
        heap_set_active(top);
    });
    while (id == 0) os_yield();
    int moved;
    {
        lock_scope registry(region().registry_lock.word, lock_rank::registry);
        go = true;
        while (!has_home(id)) os_yield();
        moved = thread_move(id, a);
    }
    target.join();
    BOOST_TEST(moved == 0);
    BOOST_TEST(active == a);
}

// An allocation for a given tenant is not diverted, and its end does not undo the move.
BOOST_FIXTURE_TEST_CASE(a_move_waits_for_the_end_of_a_scope_and_is_not_lost_with_it, allocated) {
    allot_tenant *a = make("/case/a"), *b = make("/case/b"), *given = make("/case/given");
    worker w;
    void *inside = nullptr, *after = nullptr;
    const std::uint32_t id = w.id();
    w.run([&] {
        heap_set_active(a);
        heap_free(heap_malloc(100));
        {
            active_scope scope(given);
            std::thread([&] { BOOST_TEST(thread_move(id, b) == 0); }).join();
            inside = heap_malloc(100);
            BOOST_TEST(heap_active() == given);
        }
        BOOST_TEST(heap_active() == b);
        after = heap_malloc(100);
    });
    BOOST_TEST(heap_owner_of(inside) == given);
    BOOST_TEST(heap_owner_of(after) == b);
    BOOST_TEST(listed()[id] == b);
    heap_free(inside);
    heap_free(after);
}

BOOST_FIXTURE_TEST_CASE(a_moved_thread_charges_the_new_tenant_from_its_next_allocation, allocated) {
    allot_tenant *a = make("/case/a"), *b = make("/case/b");
    worker w;
    void *of_a = nullptr, *of_b = nullptr, *large = nullptr;
    w.run([&] {
        heap_set_active(a);
        of_a = heap_malloc(100);
    });
    BOOST_TEST(thread_move(w.id(), b) == 0);
    BOOST_TEST(listed()[w.id()] == b);
    w.run([&] {
        of_b = heap_malloc(100);
        BOOST_TEST(heap_active() == b);
    });
    BOOST_TEST(heap_owner_of(of_a) == a);
    BOOST_TEST(heap_owner_of(of_b) == b);
    BOOST_TEST(thread_move(w.id(), a) == 0);
    w.run([&] {
        heap_free(of_b); // a free serves it too
        BOOST_TEST(thread_here.active->of->owner == heap_for_owner(home_here(), thread_here.active->of->owner)->owner);
        large = heap_malloc(1 << 20);
        heap_free(of_a);
    });
    BOOST_TEST(heap_owner_of(large) == a);
    heap_free(large);
    BOOST_TEST(thread_move(w.id(), nullptr) == 0);
    w.run([&] { BOOST_TEST(heap_active() == tenant_root()); });
}

BOOST_FIXTURE_TEST_CASE(a_thread_moves_itself_by_zero_and_by_its_id, allocated) {
    allot_tenant *a = make("/case/a");
    BOOST_TEST(thread_move(0, a) == 0);
    BOOST_TEST(heap_active() == a);
    BOOST_TEST(listed()[os_tid()] == a);
    BOOST_TEST(thread_move(os_tid(), top) == 0);
    BOOST_TEST(heap_active() == top);
}

BOOST_FIXTURE_TEST_CASE(a_thread_that_never_allocated_is_listed_and_can_be_moved, allocated) {
    allot_tenant *a = make("/case/a"), *b = make("/case/b");
    worker w;
    BOOST_TEST(listed()[w.id()] == tenant_default());
    BOOST_TEST(thread_move(w.id(), b) == 0);
    BOOST_TEST(thread_move(w.id(), a) == 0); // the last one counts
    BOOST_TEST(listed()[w.id()] == a);
    w.run([&] {
        void *p = heap_malloc(50);
        BOOST_TEST(heap_owner_of(p) == a);
        heap_free(p);
    });
    BOOST_TEST(listed()[w.id()] == a);
    w.run([&] { heap_set_active(top); });
}

BOOST_FIXTURE_TEST_CASE(who_is_no_thread_of_this_process_is_unknown, allocated) {
    std::size_t before = listed().size(); // a sanitizer has a thread of its own
    std::uint32_t gone = 0;
    std::thread([&] { gone = os_tid(); }).join();
    for (int i = 0; i < 100 && listed().count(gone) != 0; ++i) os_yield(); // the kernel takes a moment
    BOOST_TEST(thread_move(gone, top) == -ESRCH);
    BOOST_TEST(thread_move(1, top) == -ESRCH);
    BOOST_TEST(thread_move(0x7fffffff, top) == -ESRCH);
    BOOST_TEST(listed().size() == before);
}

BOOST_FIXTURE_TEST_CASE(a_move_amid_an_unaccounted_scope_counts_when_it_ends, allocated) {
    allot_tenant *a = make("/case/a");
    worker w;
    w.run([&] {
        heap_set_active(top);
        heap_unaccounted_begin();
    });
    BOOST_TEST(thread_move(w.id(), a) == 0);
    w.run([&] {
        void *p = heap_malloc(100);
        BOOST_TEST(heap_owner_of(p) == tenant_root());
        BOOST_TEST(heap_active() == a);
        heap_free(p);
        heap_unaccounted_end();
        p = heap_malloc(100);
        BOOST_TEST(heap_owner_of(p) == a);
        heap_free(p);
        heap_set_active(top);
    });
}

BOOST_FIXTURE_TEST_CASE(a_destroyed_tenant_stands_for_its_parent_also_for_who_is_moved_to_it, allocated) {
    allot_tenant *a = make("/case/a");
    worker w;
    w.run([] { heap_free(heap_malloc(1)); });
    BOOST_TEST(thread_move(w.id(), a) == 0);
    destroy_below("/case/a");
    BOOST_TEST(listed()[w.id()] == top);
    w.run([&] { BOOST_TEST(heap_active() == top); });
}

// The moved ones allocate and free as fast as they can, choose tenants themselves, begin and end; what each block is
// charged to is one of the tenants, and nothing is lost. The last move before a thread is asked counts.
BOOST_FIXTURE_TEST_CASE(threads_in_full_swing_can_be_moved, allocated) {
    allot_tenant *tenants[] = {make("/case/a"), make("/case/b"), make("/case/c")};
    std::atomic<std::uint32_t> ids[3] = {};
    std::atomic<bool> stop{false};
    std::atomic<unsigned> wrong{0}, switches{0};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 3; ++t)
        threads.emplace_back([&, t] {
            while (!stop)
                std::thread([&] {
                    ids[t] = os_tid();
                    allot_tenant *last = nullptr;
                    void *held[64] = {};
                    for (unsigned i = 0; i < 20000; ++i) {
                        void *&p = held[i % 64];
                        heap_free(p);
                        p = heap_malloc(16 + i % 500);
                        allot_tenant *owner = heap_owner_of(p);
                        if (owner != last) {
                            switches++;
                            last = owner;
                        }
                        if (owner != tenants[0] && owner != tenants[1] && owner != tenants[2] &&
                            owner != tenant_default())
                            wrong++;
                        if (i % 5000 == 4999) heap_set_active(tenants[t]);
                    }
                    for (void *p : held) heap_free(p);
                }).join();
        });
    unsigned moved = 0;
    for (unsigned i = 0; i < 6000; ++i) {
        std::uint32_t id = ids[i % 3];
        int error = id == 0 ? -ESRCH : thread_move(id, tenants[i / 3 % 3]);
        if (error == 0)
            moved++;
        else if (error != -ESRCH)
            wrong++;
        if (i % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    stop = true;
    for (std::thread &thread : threads) thread.join();
    BOOST_TEST(wrong == 0u);
    BOOST_TEST(moved > 100u);
    BOOST_TEST(switches > 20u);
    for (allot_tenant *t : tenants) BOOST_TEST(tenant_current(t) == 0u);
}

// A request that comes while the thread writes its pointer itself must not be passed by.
BOOST_FIXTURE_TEST_CASE(a_move_amid_the_end_of_a_scope_is_served, allocated) {
    allot_tenant *tenants[] = {make("/case/a"), make("/case/b")};
    std::atomic<std::uint32_t> id{0};
    std::atomic<unsigned> moves{0}, seen{0};
    std::atomic<bool> done{false};
    unsigned lost = 0;
    std::thread target([&] {
        heap_set_active(top);
        id = os_tid();
        for (unsigned answered = 0; !done;) {
            heap_unaccounted_begin();
            heap_unaccounted_end();
            if (moves == answered) continue;
            ++answered;
            if (heap_active() != tenants[answered % 2]) lost++;
            seen = answered;
        }
        heap_set_active(top);
    });
    while (id == 0) os_yield();
    auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    for (unsigned round = 1; std::chrono::steady_clock::now() < end; ++round) {
        (void)thread_move(id, tenants[round % 2]);
        moves = round;
        while (seen != round) os_yield();
    }
    done = true;
    target.join();
    BOOST_TEST(lost == 0u);
}

BOOST_FIXTURE_TEST_CASE(the_last_move_wins, allocated) {
    allot_tenant *tenants[] = {make("/case/a"), make("/case/b")};
    std::atomic<unsigned> go{0}, seen{0};
    std::atomic<allot_tenant *> active{nullptr};
    std::atomic<std::uint32_t> id{0};
    constexpr unsigned rounds = 2000;
    std::thread target([&] {
        heap_free(heap_malloc(1));
        id = os_tid();
        for (unsigned round = 1; round <= rounds; ++round) {
            while (go != round) heap_free(heap_malloc(64)); // served amid this
            active = heap_active();
            seen = round;
        }
        heap_set_active(top);
    });
    while (id == 0) os_yield();
    unsigned wrong = 0;
    for (unsigned round = 1; round <= rounds; ++round) {
        (void)thread_move(id, tenants[round / 2 % 2]);
        (void)thread_move(id, tenants[round % 2]);
        go = round;
        while (seen != round) os_yield();
        if (active != tenants[round % 2]) wrong++;
    }
    target.join();
    BOOST_TEST(wrong == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_child_knows_its_own_thread_alone, allocated) {
    allot_tenant *a = make("/case/a");
    worker w;
    w.run([] { heap_free(heap_malloc(1)); });
    child_end end = in_child([&] {
        if (listed().count(w.id()) != 0 || listed().count(os_tid()) != 1) return 1;
        if (thread_move(w.id(), a) != -ESRCH) return 2;
        return thread_move(0, a) == 0 && heap_active() == a ? 0 : 3;
    });
    BOOST_TEST(end.exited_with(0));
}

BOOST_FIXTURE_TEST_CASE(cgroup_threads_is_read_and_written, allocated) {
    allot_tenant *a = make("/case/a");
    worker w;
    w.run([&] { heap_set_active(top); });
    std::string id = std::to_string(w.id()) + "\n";
    BOOST_TEST(("\n" + get(top, "cgroup.threads")).find("\n" + id) != std::string::npos);
    BOOST_TEST(get(a, "cgroup.threads") == "");
    BOOST_TEST(tenant_set(a, "cgroup.threads", id.c_str()) == 0);
    BOOST_TEST(get(a, "cgroup.threads") == id);
    w.run([&] { BOOST_TEST(heap_active() == a); });
    BOOST_TEST(tenant_set(a, "cgroup.threads", "0") == 0);
    BOOST_TEST(heap_active() == a);
    BOOST_TEST(tenant_set(a, "cgroup.threads", "1") == -ESRCH);
    w.run([&] { heap_set_active(top); });
    heap_set_active(top);
}
