#define BOOST_TEST_MODULE registrations
#include <boost/test/unit_test.hpp>

#include "accounting/registrations.hpp"

#include "accounting/base/os.hpp"
#include "tests/support/verified.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <vector>

using namespace allot;

namespace {

struct locked {
    signals_blocked quiet;
    lock_scope registry{region().registry_lock.word, lock_rank::registry};
};

int add(allot_tenant *t, registration_kind kind = registration_kind::shrinker) {
    locked in;
    registration *r = registration_new();
    BOOST_TEST_REQUIRE(r != nullptr);
    return registration_begin(*r, *tenant_from(t), kind);
}
int find(int id, registration_kind kind = registration_kind::shrinker) {
    locked in;
    registration_found f = registration_find(id, kind);
    return f.found == nullptr ? f.error : registration_id(*f.found);
}
void end(int id) {
    locked in;
    registration_found f = registration_find(id, registration_kind::shrinker);
    if (f.found == nullptr) f = registration_find(id, registration_kind::callback);
    BOOST_TEST_REQUIRE(f.found != nullptr);
    registration_end(*f.found);
}
std::set<int> shrinkers_in(allot_tenant *top) {
    locked in;
    std::set<int> all;
    const tenant &t = *tenant_from(top);
    for (registration *r = first_shrinker_in(t); r != nullptr; r = next_shrinker_in(*r, t))
        BOOST_TEST(all.insert(registration_id(*r)).second);
    return all;
}
std::vector<int> listeners_from(allot_tenant *from) {
    locked in;
    std::vector<int> all;
    for (registration *r = first_listener_from(*tenant_from(from)); r != nullptr; r = next_listener(*r))
        all.push_back(registration_id(*r));
    return all;
}

} // namespace

BOOST_FIXTURE_TEST_CASE(a_subtree_has_its_own_and_those_below, verified) {
    allot_tenant *a = make("/case/a"), *b = make("/case/a/b"), *c = make("/case/c");
    BOOST_TEST(!any_registered(registration_list::shrinkers));
    int of_top = add(top), of_b = add(b), of_c = add(c), other_of_b = add(b);
    BOOST_TEST(any_registered(registration_list::shrinkers));
    BOOST_TEST((shrinkers_in(top) == std::set<int>{of_top, of_b, other_of_b, of_c}));
    BOOST_TEST((shrinkers_in(a) == std::set<int>{of_b, other_of_b}));
    BOOST_TEST((shrinkers_in(c) == std::set<int>{of_c}));
    for (int id : {of_top, of_b, of_c, other_of_b}) end(id);
    BOOST_TEST(shrinkers_in(top).empty());
    BOOST_TEST(!any_registered(registration_list::shrinkers));
}

BOOST_FIXTURE_TEST_CASE(events_go_up_from_a_tenant_to_the_root, verified) {
    allot_tenant *a = make("/case/a"), *b = make("/case/a/b"), *c = make("/case/c");
    int of_root = add(tenant_root(), registration_kind::callback), of_b = add(b, registration_kind::callback);
    int of_c = add(c, registration_kind::callback), of_top = add(top, registration_kind::callback);
    BOOST_TEST((listeners_from(b) == std::vector<int>{of_b, of_top, of_root}));
    BOOST_TEST((listeners_from(a) == std::vector<int>{of_top, of_root}));
    BOOST_TEST((listeners_from(c) == std::vector<int>{of_c, of_top, of_root}));
    for (int id : {of_root, of_b, of_c, of_top}) end(id);
    BOOST_TEST(listeners_from(b).empty());
}

BOOST_FIXTURE_TEST_CASE(an_id_is_of_one_kind_and_stale_after_its_end, verified) {
    int id = add(top);
    BOOST_TEST(id > 0);
    BOOST_TEST(find(id) == id);
    BOOST_TEST(find(id, registration_kind::callback) == -ENOENT);
    end(id);
    BOOST_TEST(find(id) == -ESTALE);
    for (int never : {0, -1, -ENOENT, 0xfffff, 0x7fffffff}) BOOST_TEST(find(never) == -ENOENT, never);
    for (int i = 0; i < 100'000; ++i) {
        int later = add(top);
        BOOST_TEST_REQUIRE(later != id);
        end(later);
    }
    BOOST_TEST(find(id) == -ESTALE);
}

BOOST_FIXTURE_TEST_CASE(registrations_end_with_their_tenant, verified) {
    allot_tenant *a = make("/case/a");
    int shrinker = add(a), callback = add(a, registration_kind::callback), of_top = add(top);
    {
        locked in;
        registrations_end_of(*tenant_from(a));
    }
    BOOST_TEST(find(shrinker) == -ESTALE);
    BOOST_TEST(find(callback, registration_kind::callback) == -ESTALE);
    BOOST_TEST((shrinkers_in(top) == std::set<int>{of_top}));
    end(of_top);
}

// A reclaim stands on one while its tenant, and all others, go.
BOOST_FIXTURE_TEST_CASE(a_pinned_one_keeps_its_place_until_its_call_is_over, verified) {
    allot_tenant *a = make("/case/a"), *b = make("/case/b"), *c = make("/case/c");
    int ids[] = {add(a), add(b), add(c)};
    registration_call call;
    registration *second;
    {
        locked in;
        const tenant &t = *tenant_from(top);
        second = next_shrinker_in(*first_shrinker_in(t), t);
        call_begin(call, *second);
    }
    int pinned = registration_id(*second);
    for (int id : ids) end(id);
    BOOST_TEST(shrinkers_in(top).empty());
    int fresh = add(top);
    {
        locked in;
        BOOST_TEST(next_shrinker_in(*second, *tenant_from(top)) == nullptr);
        BOOST_TEST(registration_id(*second) == pinned);
        call_end(call);
        BOOST_TEST(registration_id(*second) != pinned); // free for another
    }
    BOOST_TEST((shrinkers_in(top) == std::set<int>{fresh}));
    end(fresh);
}

BOOST_FIXTURE_TEST_CASE(who_ends_one_waits_for_other_threads_in_it, verified) {
    int id = add(top);
    std::atomic<int> step{0};
    std::thread caller([&] {
        registration_call call;
        {
            locked in;
            call_begin(call, *registration_find(id, registration_kind::shrinker).found);
        }
        step = 1;
        while (step != 2) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        step = 3;
        locked in;
        call_end(call);
    });
    while (step != 1) std::this_thread::yield();
    end(id);
    step = 2;
    wait_for_calls_of(id);
    BOOST_TEST(step == 3);
    caller.join();
    wait_for_calls_of(id); // nobody is
}

BOOST_FIXTURE_TEST_CASE(a_thread_does_not_wait_for_itself, verified) {
    int id = add(top);
    registration_call call;
    {
        locked in;
        call_begin(call, *registration_find(id, registration_kind::shrinker).found);
    }
    end(id);
    wait_for_calls_of(id);
    wait_for_calls_of(top);
    locked in;
    call_end(call);
}

// Random registrations of a random tree, against a map.
BOOST_FIXTURE_TEST_CASE(random_registrations_are_found_where_they_are, verified) {
    std::mt19937 random(11);
    std::vector<std::string> paths{"/case"};
    for (int i = 0; i < 40; ++i) {
        paths.push_back(paths[random() % paths.size()] + "/" + std::to_string(i));
        make(paths.back().c_str());
    }
    std::map<int, std::string> all;
    for (int i = 0; i < 4000; ++i) {
        if (random() % 2 == 0 || all.empty()) {
            const std::string &path = paths[random() % paths.size()];
            int id = add(make(path.c_str()));
            BOOST_TEST_REQUIRE(all.emplace(id, path).second);
        } else {
            auto gone = std::next(all.begin(), static_cast<long>(random() % all.size()));
            end(gone->first);
            all.erase(gone);
        }
        if (i % 50 != 0) continue;
        const std::string &top_path = paths[random() % paths.size()];
        std::set<int> expected;
        for (const auto &[id, path] : all)
            if (path == top_path || path.starts_with(top_path + "/")) expected.insert(id);
        BOOST_TEST((shrinkers_in(make(top_path.c_str())) == expected));
    }
    for (const auto &[id, path] : all) end(id);
    BOOST_TEST(!any_registered(registration_list::shrinkers));
}
