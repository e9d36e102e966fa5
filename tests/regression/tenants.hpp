// What the regression tests share: a tenant for each case, and a recount at its end.
#pragma once

#include <allot/alloc.h>
#include <allot/kmem_cache.h>
#include <allot/tenant.h>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

// A fixture: BOOST_FIXTURE_TEST_CASE(name, tenants). When the case ends everything must have been freed.
struct tenants {
    allot_tenant *top = nullptr;

    tenants() { top = make(nullptr, "case"); }
    tenants(const tenants &) = delete;
    tenants &operator=(const tenants &) = delete;
    ~tenants() {
        allot_set_active(nullptr);
        allot_verify_report report;
        BOOST_TEST(allot_verify(&report) == 0, report.first);
        BOOST_TEST(allot_tenant_current(top) == 0u);
        for (auto made = made_.rbegin(); made != made_.rend(); ++made) allot_tenant_destroy(*made); // some are gone
        BOOST_TEST(allot_tenant_current(nullptr) == 0u);
        BOOST_TEST(key(nullptr, "memory.stat", "external") == 0u);
    }

    allot_tenant *make(allot_tenant *parent, const char *name, const char *max = "max") {
        allot_tenant *t = allot_tenant_create(parent, name);
        BOOST_TEST_REQUIRE(t != nullptr, name);
        BOOST_TEST_REQUIRE(allot_tenant_set(t, "memory.max", max) == 0);
        made_.push_back(t);
        return t;
    }

    static std::string get(allot_tenant *t, const char *file) {
        char text[4096];
        ssize_t length = allot_tenant_get(t, file, text, sizeof text);
        return length < 0 ? "error " + std::to_string(length) : std::string(text);
    }
    static std::uint64_t number(allot_tenant *t, const char *file) { return std::stoull(get(t, file)); }
    static std::uint64_t key(allot_tenant *t, const char *file, const std::string &name) {
        std::string text = "\n" + get(t, file);
        std::size_t at = text.find("\n" + name + " ");
        BOOST_TEST_REQUIRE(at != std::string::npos, name);
        return std::stoull(text.substr(at + name.size() + 2));
    }

    // Runs it on n threads at once; each is given its number.
    static void on_threads(unsigned n, const std::function<void(unsigned)> &job) {
        std::vector<std::thread> threads;
        for (unsigned i = 0; i < n; ++i) threads.emplace_back(job, i);
        for (std::thread &t : threads) t.join();
    }

private:
    std::vector<allot_tenant *> made_;
};

// Threads that stay, and do nothing, until it is destroyed: with their stocks.
class idle_threads {
public:
    idle_threads(unsigned n, const std::function<void(unsigned)> &before_idling) {
        for (unsigned i = 0; i < n; ++i)
            threads_.emplace_back([this, before_idling, i] {
                before_idling(i);
                idle_++;
                idle_.notify_all();
                done_.wait(false);
            });
        for (unsigned seen = idle_; seen < n; seen = idle_) idle_.wait(seen);
    }
    ~idle_threads() {
        done_ = true;
        done_.notify_all();
        for (std::thread &t : threads_) t.join();
    }
    idle_threads(const idle_threads &) = delete;
    idle_threads &operator=(const idle_threads &) = delete;

private:
    std::atomic<unsigned> idle_{0};
    std::atomic<bool> done_{false};
    std::vector<std::thread> threads_;
};
