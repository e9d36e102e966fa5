// A fixture that recounts everything after each case: BOOST_FIXTURE_TEST_CASE(name, verified).
//
// It starts accounting, and gives each case a tenant of its own, "/case", which is destroyed at the end, so that cases
// cannot disturb each other.
#pragma once

#include "accounting/accounting.hpp"
#include "accounting/settle.hpp"
#include "accounting/tenant.hpp"
#include "accounting/tenant_files.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <string>

struct verified {
    allot_tenant *top = nullptr;

    verified() {
        BOOST_TEST_REQUIRE(allot::accounting_start());
        top = make("/case");
    }
    ~verified() {
        allot::verify_result result = allot::verify();
        BOOST_TEST(result.differences == 0u, result.first);
        destroy_below("/case");
        BOOST_TEST(usage_of("/") == 0u);
    }

    static allot_tenant *make(const char *path, const char *max = nullptr) {
        allot_tenant *t = allot::tenant_create_path(path);
        BOOST_TEST_REQUIRE(t != nullptr, path);
        if (max != nullptr) BOOST_TEST_REQUIRE(allot::tenant_set(t, "memory.max", max) == 0);
        return t;
    }
    static std::string get(allot_tenant *t, const char *file) {
        char text[2048];
        long length = allot::tenant_get(t, file, text, sizeof text);
        return length < 0 ? "error " + std::to_string(length) : std::string(text);
    }
    static std::uint64_t number(allot_tenant *t, const char *file) { return std::stoull(get(t, file)); }
    // A line of a flat-keyed file: keyed(t, "memory.events", "oom").
    static std::uint64_t keyed(allot_tenant *t, const char *file, const std::string &key) {
        std::string text = "\n" + get(t, file);
        std::size_t at = text.find("\n" + key + " ");
        BOOST_TEST_REQUIRE(at != std::string::npos, key);
        return std::stoull(text.substr(at + key.size() + 2));
    }
    static std::uint64_t usage_of(const char *path) {
        int error = 0;
        allot::tenant *t = allot::tenant_from(allot::tenant_open(path, error));
        BOOST_TEST_REQUIRE(t != nullptr, path);
        return allot::usage(t->counter);
    }
    static void destroy_below(const std::string &path) {
        int error = 0;
        allot_tenant *handle = allot::tenant_open(path.c_str(), error);
        if (handle == nullptr) return; // the case destroyed it
        while (allot::tenant *child = allot::record_of<allot::tenant>(allot::tenant_from(handle)->first_child))
            destroy_below((path == "/" ? "" : path) + "/" + child->name);
        BOOST_TEST(allot::tenant_destroy(handle) == 0);
    }
};

// One operation as the allocator does it.
inline bool charge(allot::context *c, std::int64_t bytes) {
    allot::net_word d = allot::net_of(bytes, 1);
    allot::refusal left;
    while (!allot::context_charge(*c, d) && !allot::context_charge_slow(c, d)) {
        allot::refusal_take(*c, left);
        if (!allot::settle_refusal(left)) return false;
    }
    if (allot::settle_is_due()) allot::settle_charge(*c);
    return true;
}
inline void uncharge(allot::context *c, std::int64_t bytes) {
    if (!allot::context_uncharge(*c, allot::net_of(bytes, 1))) allot::context_uncharge_slow(c);
}
