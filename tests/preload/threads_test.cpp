// Threads started through the records, with tenants that are addresses in this file.
#define BOOST_TEST_MODULE threads
#include "preload/threads.hpp"

#include "accounting/accounting.hpp"
#include "accounting/options.hpp"
#include "alloc/alloc.hpp"

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <pthread.h>
#include <vector>

using namespace allot;

namespace {

options settings{};
char web, database, standard;
thread_local allot_tenant *active;
allot_tenant *as_tenant(char &c) { return reinterpret_cast<allot_tenant *>(&c); }
allot_tenant *of_process = as_tenant(standard);

} // namespace

namespace allot {
const options &options_get() { return settings; }
allot_tenant *tenant_create_path(const char *path) {
    return as_tenant(std::strcmp(path, "/web") == 0 ? web : database);
}
allot_tenant *tenant_default() { return of_process; }
void tenant_set_default(allot_tenant *tenant) { of_process = tenant; }
allot_tenant *heap_set_active(allot_tenant *tenant) {
    allot_tenant *before = active;
    active = tenant;
    return before;
}
} // namespace allot

namespace {

const map_rule thread_rule{map_kind::thread, "web*", "/web"};
const map_rule both_rules[] = {thread_rule, {map_kind::exe, "postgres", "/db"}};

void *seen_tenant(void *argument) { return argument ? argument : static_cast<void *>(active); }

void *run(const char *name) {
    pthread_setname_np(pthread_self(), name); // a new thread inherits it
    thread_start *record = thread_start_make(seen_tenant, nullptr);
    pthread_t thread;
    BOOST_REQUIRE(pthread_create(&thread, nullptr, thread_main, record) == 0);
    void *result;
    pthread_join(thread, &result);
    return result;
}

struct with_rules {
    with_rules() {
        settings = {};
        settings.program = "test";
        settings.map = &thread_rule;
        settings.nr_map = 1;
        threads_start();
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(without_rules_new_threads_are_not_looked_at) {
    settings = {};
    active = nullptr;
    threads_start();
    BOOST_TEST(!threads_have_rules());
    BOOST_TEST(active == nullptr);
}

BOOST_FIXTURE_TEST_CASE(a_thread_starts_in_the_tenant_of_its_name, with_rules) {
    BOOST_TEST(threads_have_rules());
    BOOST_TEST(run("web-1") == &web);
}

BOOST_FIXTURE_TEST_CASE(an_unmatched_thread_starts_in_the_default_tenant, with_rules) {
    BOOST_TEST(run("disk") == &standard);
}

BOOST_FIXTURE_TEST_CASE(a_renamed_thread_changes_over, with_rules) {
    pthread_setname_np(pthread_self(), "web-2");
    thread_apply_rules();
    BOOST_TEST(active == as_tenant(web));
    pthread_setname_np(pthread_self(), "else");
    thread_apply_rules();
    BOOST_TEST(active == as_tenant(standard));
}

BOOST_FIXTURE_TEST_CASE(an_exe_rule_gives_the_tenant_of_unmatched_threads, with_rules) {
    settings.map = both_rules;
    settings.nr_map = 2;
    settings.program = "postgres";
    threads_start();
    BOOST_TEST(run("disk") == &database);
    BOOST_TEST(run("web-3") == &web);
    BOOST_TEST(active == as_tenant(database));
    of_process = active = as_tenant(standard); // as in another process
    settings.program = "other";
    threads_start();
    BOOST_TEST(run("disk") == &standard);
}

BOOST_FIXTURE_TEST_CASE(a_thousand_records_may_wait_at_once_and_are_used_again, with_rules) {
    std::vector<thread_start *> records;
    for (int i = 0; i < 1000; ++i) records.push_back(thread_start_make(seen_tenant, &records));
    for (thread_start *record : records) BOOST_REQUIRE(record != nullptr);
    for (thread_start *record : records) BOOST_REQUIRE(thread_main(record) == &records);
    BOOST_TEST(thread_start_make(seen_tenant, nullptr) == records[0]);
    thread_start_drop(records[0]);
}
