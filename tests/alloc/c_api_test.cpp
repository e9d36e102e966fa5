#define BOOST_TEST_MODULE c_api
#include <boost/test/unit_test.hpp>

#include "tests/support/allocated.hpp"

#include <allot/alloc.h>

#include <cerrno>
#include <cstring>

using namespace allot;

namespace {

struct with_tenant : allocated {
    allot_tenant *mine = made();
    allot_tenant *before = allot_set_active(mine);
    ~with_tenant() {
        BOOST_TEST(allot_tenant_current(mine) == 0u);
        allot_set_active(before);
        BOOST_TEST(allot_tenant_destroy(mine) == 0);
    }

private:
    static allot_tenant *made() {
        allot_tenant *t = allot_tenant_create(nullptr, "c_api");
        BOOST_TEST_REQUIRE(t != nullptr);
        return t;
    }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(the_malloc_family_charges_usable_sizes_to_the_active_tenant, with_tenant) {
    void *blocks[] = {allot_malloc(100), allot_calloc(10, 30), allot_aligned_alloc(256, 300), allot_malloc(3 << 20)};
    uint64_t sum = 0;
    for (void *p : blocks) {
        BOOST_TEST_REQUIRE(p != nullptr);
        BOOST_TEST(allot_owner_of(p) == mine);
        sum += allot_usable_size(p);
    }
    BOOST_TEST(allot_tenant_current(mine) == sum);
    BOOST_TEST(is_filled(blocks[1], 300, 0));
    BOOST_TEST(reinterpret_cast<std::uintptr_t>(blocks[2]) % 256 == 0u);
    for (void *p : blocks) allot_free(p);
    allot_free(nullptr);
}

BOOST_FIXTURE_TEST_CASE(realloc_keeps_contents_and_charges_the_new_size, with_tenant) {
    char *p = static_cast<char *>(allot_realloc(nullptr, 10));
    std::strcpy(p, "ten bytes");
    for (size_t size : {size_t{5000}, size_t{200000}, size_t{2000000}, size_t{20}}) {
        p = static_cast<char *>(allot_realloc(p, size));
        BOOST_TEST_REQUIRE(p != nullptr);
        BOOST_TEST(std::strcmp(p, "ten bytes") == 0);
        BOOST_TEST(allot_tenant_current(mine) == allot_usable_size(p));
    }
    BOOST_TEST(allot_realloc(p, 0) == nullptr);
}

BOOST_FIXTURE_TEST_CASE(a_bad_alignment_is_EINVAL_and_an_overflow_ENOMEM, with_tenant) {
    errno = 0;
    BOOST_TEST(allot_aligned_alloc(48, 100) == nullptr);
    BOOST_TEST(errno == EINVAL);
    errno = 0;
    BOOST_TEST(allot_calloc(size_t{1} << 40, size_t{1} << 40) == nullptr);
    BOOST_TEST(errno == ENOMEM);
}

BOOST_FIXTURE_TEST_CASE(malloc_in_charges_the_tenant_named_and_leaves_the_active_one, with_tenant) {
    allot_tenant *other = allot_tenant_create(nullptr, "c_api_other");
    BOOST_TEST(allot_tenant_set(other, "memory.max", "64K") == 0);
    void *p = allot_malloc_in(other, 1000);
    BOOST_TEST(allot_owner_of(p) == other);
    errno = 0;
    BOOST_TEST(allot_malloc_in(other, 65536) == nullptr);
    BOOST_TEST(errno == ENOMEM);
    BOOST_TEST(allot_set_active(mine) == mine);
    allot_free(p);
    BOOST_TEST(allot_tenant_current(other) == 0u);
    BOOST_TEST(allot_tenant_destroy(other) == 0);
}

BOOST_FIXTURE_TEST_CASE(a_destroyed_tenants_block_belongs_to_its_parent, with_tenant) {
    allot_tenant *child = allot_tenant_create(mine, "child");
    void *p = allot_malloc_in(child, 1000);
    BOOST_TEST(allot_tenant_destroy(child) == 0);
    BOOST_TEST(allot_owner_of(p) == mine);
    BOOST_TEST(allot_tenant_current(mine) == allot_usable_size(p));
    BOOST_TEST(allot_tenant_destroy(child) == -ESTALE);
    allot_free(p);
}

BOOST_FIXTURE_TEST_CASE(kmalloc_obeys_its_flags, with_tenant) {
    char *dirty = static_cast<char *>(allot_kmalloc(200, ALLOT_KERNEL));
    std::memset(dirty, 1, 200);
    allot_kfree(dirty);
    void *zeroed[] = {allot_kzalloc(200, ALLOT_KERNEL), allot_kcalloc(2, 100, ALLOT_KERNEL),
                      allot_kmalloc(200, ALLOT_ZERO)};
    for (void *p : zeroed) {
        BOOST_TEST(is_filled(p, 200, 0));
        BOOST_TEST(allot_ksize(p) >= 200u);
    }
    for (void *p : zeroed) allot_kfree(p);
    void *spared = allot_kmalloc(200, ALLOT_UNACCOUNTED);
    BOOST_TEST(allot_owner_of(spared) == allot_root());
    BOOST_TEST(allot_tenant_current(mine) == 0u);
    spared = allot_krealloc(spared, 5000, ALLOT_UNACCOUNTED);
    BOOST_TEST(allot_owner_of(spared) == allot_root());
    allot_kfree(spared);
}

BOOST_FIXTURE_TEST_CASE(unaccounted_scopes_nest, with_tenant) {
    allot_unaccounted_begin();
    allot_unaccounted_begin();
    allot_unaccounted_end();
    void *spared = allot_malloc(100);
    allot_unaccounted_end();
    allot_unaccounted_end(); // one too many: nothing happens
    void *paid = allot_malloc(100);
    BOOST_TEST(allot_owner_of(spared) == allot_root());
    BOOST_TEST(allot_owner_of(paid) == mine);
    allot_free(spared);
    allot_free(paid);
}
