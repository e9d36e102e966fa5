#define BOOST_TEST_MODULE active
#include <boost/test/unit_test.hpp>

#include "accounting/base/os.hpp"
#include "alloc/active.hpp"
#include "tests/support/allocated.hpp"
#include "tests/support/child.hpp"

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

using namespace allot;

// What another thread does to ask for attention, done by hand.
BOOST_FIXTURE_TEST_CASE(a_blanked_pointer_is_put_right_by_the_next_call, allocated) {
    home *h = home_here();
    BOOST_TEST(thread_here.active == h->current->front);
    for (int call = 0; call < 4; ++call) {
        void *p = heap_malloc(64);
        thread_here.active = &front_of_nobody;
        if (call == 0) heap_free(heap_malloc(64));
        if (call == 1) heap_free(heap_aligned_alloc(128, 100));
        if (call == 2) heap_free(heap_calloc(1, 100000));
        heap_free(p);
        BOOST_TEST(thread_here.active == h->current->front);
        BOOST_TEST(heap_active() == top);
    }
}

BOOST_FIXTURE_TEST_CASE(a_handler_amid_a_slow_path_serves_nothing, allocated) {
    home *h = home_here();
    allot_tenant *a = make("/case/a");
    h->busy = true;
    h->move_to = a;
    thread_here.active = &front_of_nobody;
    heap_free(heap_malloc(64));
    BOOST_TEST(thread_here.active == &front_of_nobody);
    BOOST_TEST(h->move_to == a);
    h->busy = false;
    BOOST_TEST(heap_active() == a);
    BOOST_TEST(h->move_to == nullptr);
    heap_set_active(top);
}

BOOST_FIXTURE_TEST_CASE(an_unaccounted_scope_leaves_what_was_chosen, allocated) {
    home *h = home_here();
    allot_tenant *a = make("/case/a");
    heap_set_active(a);
    auto of = [](const heap *chosen) { return hooks::tenant_of_owner(chosen->owner); };
    BOOST_TEST(of(h->chosen) == a);
    heap_unaccounted_begin();
    BOOST_TEST(of(h->chosen) == a);
    BOOST_TEST(of(h->current) == tenant_root());
    heap_unaccounted_end();
    BOOST_TEST(of(h->current) == a);
    heap_set_active(top);
    BOOST_TEST(of(h->chosen) == top);
    BOOST_TEST(!h->goes_to.load());
    BOOST_TEST(living(a) == a);
    destroy_below("/case/a");
    BOOST_TEST(living(a) == top);
}

// Not by the root, also when nobody can tell any more whose child the handle's tenant was.
BOOST_FIXTURE_TEST_CASE(at_the_end_of_a_scope_a_tenant_that_is_gone_is_stood_for_by_its_parent, allocated) {
    heap_set_active(make("/case/a"));
    heap_unaccounted_begin();
    destroy_below("/case/a");
    for (int i = 0; i < 10; ++i) make(("/case/others/" + std::to_string(i)).c_str());
    BOOST_TEST(heap_active() == top);
    heap_unaccounted_end();
    void *p = heap_malloc(64);
    BOOST_TEST(heap_owner_of(p) == top);
    heap_free(p);
    heap_set_active(top);
}

BOOST_FIXTURE_TEST_CASE(a_thread_that_loses_its_home_keeps_its_tenant_and_its_scope, allocated) {
    allot_tenant *a = make("/case/a");
    heap_set_active(a);
    heap_unaccounted_begin();
    leave_home();
    void *p = heap_malloc(100);
    BOOST_TEST(heap_owner_of(p) == tenant_root());
    BOOST_TEST(heap_active() == a);
    heap_unaccounted_end();
    heap_free(p);
    p = heap_malloc(100);
    BOOST_TEST(heap_owner_of(p) == a);
    heap_free(p);
    heap_set_active(top);
}

BOOST_FIXTURE_TEST_CASE(who_chooses_a_closed_tenant_waits_until_it_is_open, allocated) {
    allot_tenant *a = make("/case/a");
    std::atomic<bool> inside{false};
    std::thread other;
    {
        tenant_closed closed(a);
        BOOST_TEST(!closed.somebody_is_inside(home_here()));
        other = std::thread([&] {
            heap_set_active(a);
            inside = true;
            heap_free(heap_malloc(10));
        });
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        BOOST_TEST(!inside);
        BOOST_TEST(closed.somebody_is_inside(home_here())); // it is at the door
        heap_set_active(top);                               // other tenants are open
    }
    other.join();
    BOOST_TEST(inside);
}

BOOST_FIXTURE_TEST_CASE(the_child_of_a_fork_amid_a_reset_knows_of_none, allocated) {
    allot_tenant *a = make("/case/a");
    BOOST_TEST(hooks::tenants_ended_if_not_moot() == hooks::tenants_ended());
    {
        tenant_closed closed(a);
        BOOST_TEST(hooks::tenants_ended_if_not_moot() != hooks::tenants_ended());
        child_end end = in_child([] {
            heap_start();
            if (hooks::tenants_ended_if_not_moot() != hooks::tenants_ended()) return 1;
            allot_tenant *own = tenant_create_path("/own");
            { tenant_closed again(own); }
            return hooks::tenants_ended_if_not_moot() == hooks::tenants_ended() ? 0 : 2;
        });
        BOOST_TEST(end.exited_with(0), end.status);
    }
    BOOST_TEST(hooks::tenants_ended_if_not_moot() == hooks::tenants_ended());
}
