#define BOOST_TEST_MODULE kmem_cache
#include <boost/test/unit_test.hpp>

#include "tests/support/allocated.hpp"

#include <allot/kmem_cache.h>

#include <cerrno>
#include <string_view>
#include <vector>

using namespace allot;

namespace {

std::uintptr_t address(const void *p) { return reinterpret_cast<std::uintptr_t>(p); }

int constructed = 0;
void construct(void *object) {
    ++constructed;
    *static_cast<int *>(object) = 42;
}

} // namespace

BOOST_FIXTURE_TEST_CASE(objects_have_the_size_and_alignment_of_their_cache, allocated) {
    for (size_t alignment : {size_t{0}, size_t{8}, size_t{32}, size_t{64}, size_t{4096}, size_t{131072}}) {
        allot_kmem_cache *cache = allot_kmem_cache_create("aligned", 200, alignment, ALLOT_CACHE_DEFAULT, nullptr);
        BOOST_TEST_REQUIRE(cache != nullptr);
        void *object = allot_kmem_cache_alloc(cache, ALLOT_ZERO);
        BOOST_TEST_REQUIRE(object != nullptr);
        BOOST_TEST(address(object) % (alignment != 0 ? alignment : 16) == 0u);
        BOOST_TEST(is_filled(object, 200, 0));
        BOOST_TEST(allot_usable_size(object) == allot_kmem_cache_slot_size(cache));
        allot_kmem_cache_free(cache, object);
        allot_kmem_cache_destroy(cache);
    }
    allot_kmem_cache *lines = allot_kmem_cache_create("lines", 40, 0, ALLOT_CACHE_HWALIGN, nullptr);
    void *object = allot_kmem_cache_alloc(lines, ALLOT_KERNEL);
    BOOST_TEST(address(object) % 64 == 0u);
    allot_kmem_cache_free(lines, object);
    allot_kmem_cache_destroy(lines);
}

BOOST_FIXTURE_TEST_CASE(what_makes_no_sense_is_EINVAL, allocated) {
    errno = 0;
    BOOST_TEST(allot_kmem_cache_create("empty", 0, 0, ALLOT_CACHE_DEFAULT, nullptr) == nullptr);
    BOOST_TEST(errno == EINVAL);
    errno = 0;
    BOOST_TEST(allot_kmem_cache_create("crooked", 10, 24, ALLOT_CACHE_DEFAULT, nullptr) == nullptr);
    BOOST_TEST(errno == EINVAL);
    allot_kmem_cache_destroy(nullptr);
}

BOOST_FIXTURE_TEST_CASE(every_object_handed_out_is_constructed, allocated) {
    allot_kmem_cache *cache = allot_kmem_cache_create("constructed", sizeof(int), 0, ALLOT_CACHE_DEFAULT, construct);
    constructed = 0;
    void *objects[10];
    BOOST_TEST(allot_kmem_cache_alloc_bulk(cache, ALLOT_KERNEL, 10, objects) == 10u);
    BOOST_TEST(constructed == 10);
    for (void *object : objects) BOOST_TEST(*static_cast<int *>(object) == 42);
    allot_kmem_cache_free_bulk(cache, 10, objects);
    allot_kmem_cache_destroy(cache);
}

BOOST_FIXTURE_TEST_CASE(a_bulk_that_does_not_fit_is_refused_as_a_whole, allocated) {
    allot_tenant *tenant = allot_tenant_create(nullptr, "bulk");
    BOOST_TEST(allot_tenant_set(tenant, "memory.max", "1M") == 0);
    allot_tenant *before = allot_set_active(tenant);
    allot_kmem_cache *cache = allot_kmem_cache_create("bulk", 1024, 0, ALLOT_CACHE_DEFAULT, nullptr);
    std::vector<void *> objects(1025);
    errno = 0;
    BOOST_TEST(allot_kmem_cache_alloc_bulk(cache, ALLOT_KERNEL, 1025, objects.data()) == 0u);
    BOOST_TEST(errno == ENOMEM);
    BOOST_TEST(allot_tenant_current(tenant) == 0u);
    BOOST_TEST(allot_kmem_cache_alloc_bulk(cache, ALLOT_KERNEL, 1024, objects.data()) == 1024u);
    BOOST_TEST(allot_tenant_current(tenant) == uint64_t{1} << 20);
    allot_kmem_cache_free_bulk(cache, 1024, objects.data());
    (void)allot_kmem_cache_shrink(cache);
    allot_kmem_cache_destroy(cache);
    allot_set_active(before);
    BOOST_TEST(allot_tenant_current(tenant) == 0u);
    BOOST_TEST(allot_tenant_destroy(tenant) == 0);
}

BOOST_FIXTURE_TEST_CASE(a_long_name_is_cut, allocated) {
    allot_kmem_cache *cache =
        allot_kmem_cache_create("a name that is longer than any cache needs", 10, 0, ALLOT_CACHE_DEFAULT, nullptr);
    BOOST_TEST(std::string_view(allot_kmem_cache_name(cache)).size() == 31u);
    allot_kmem_cache_destroy(cache);
}
