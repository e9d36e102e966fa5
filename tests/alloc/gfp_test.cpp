#define BOOST_TEST_MODULE gfp
#include <boost/test/unit_test.hpp>

#include "alloc/gfp.hpp"
#include "tests/support/allocated.hpp"

#include <allot/kmem_cache.h>

#include <cerrno>
#include <vector>

using namespace allot;

namespace {

constexpr std::size_t kib = 1024, mib = kib * kib;

allot_gfp operator|(allot_gfp a, allot_gfp b) {
    return static_cast<allot_gfp>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}

// A tenant whose limit is used up.
struct full : allocated {
    allot_tenant *t = make("/case/t", "64K");
    std::vector<void *> filling;

    full() {
        heap_set_active(t);
        while (void *p = heap_malloc(1000)) filling.push_back(p);
        BOOST_TEST(tenant_current(t) == 64 * kib);
    }
    ~full() {
        for (void *p : filling) heap_free(p);
        BOOST_TEST(tenant_current(t) == 0u);
        heap_set_active(top);
    }
    std::uint64_t forced() { return keyed(t, "memory.stat", "forced"); }
    std::uint64_t oom() { return keyed(t, "memory.events", "oom"); }
};

// On the fast path of a slab, in a shared one, of whole units, large.
constexpr std::size_t sizes[] = {16, 1000, 20 * kib, 200 * kib, 3 * mib};

} // namespace

BOOST_AUTO_TEST_CASE(flags_are_known_and_at_most_one_says_how_much_to_insist) {
    for (allot_gfp good : {ALLOT_KERNEL, ALLOT_ZERO, ALLOT_UNACCOUNTED, ALLOT_NOFAIL | ALLOT_ZERO,
                           ALLOT_ATOMIC | ALLOT_UNACCOUNTED | ALLOT_ZERO, ALLOT_NOWAIT})
        BOOST_TEST(is_gfp(good));
    for (allot_gfp bad : {ALLOT_NOFAIL | ALLOT_ATOMIC, ALLOT_NOFAIL | ALLOT_NOWAIT, ALLOT_ATOMIC | ALLOT_NOWAIT,
                          static_cast<allot_gfp>(1 << 5), static_cast<allot_gfp>(-1)})
        BOOST_TEST(!is_gfp(bad));
    BOOST_TEST((insistence_of(ALLOT_ZERO) == insistence::ordinary));
    BOOST_TEST((insistence_of(ALLOT_NOWAIT | ALLOT_ZERO) == insistence::nowait));
    BOOST_TEST((insistence_of(ALLOT_ATOMIC) == insistence::atomic));
    BOOST_TEST((insistence_of(ALLOT_NOFAIL) == insistence::nofail));
}

BOOST_FIXTURE_TEST_CASE(other_flags_are_EINVAL_in_every_call, full) {
    auto bad = static_cast<allot_gfp>(64);
    allot_kmem_cache *caches[] = {allot_kmem_cache_create("plain", 100, 0, ALLOT_CACHE_DEFAULT, nullptr),
                                  allot_kmem_cache_create("aligned", 100, 256, ALLOT_CACHE_DEFAULT, nullptr)};
    void *objects[3];
    auto is_invalid = [](void *p) { return p == nullptr && errno == EINVAL; };
    BOOST_TEST(is_invalid(allot_kmalloc(10, bad)));
    errno = 0;
    BOOST_TEST(is_invalid(allot_kzalloc(10, bad)));
    errno = 0;
    BOOST_TEST(is_invalid(allot_kcalloc(1, 10, bad)));
    errno = 0;
    BOOST_TEST(is_invalid(allot_krealloc(filling[0], 10, ALLOT_ATOMIC | ALLOT_NOFAIL)));
    for (allot_kmem_cache *cache : caches) {
        errno = 0;
        BOOST_TEST(is_invalid(allot_kmem_cache_alloc(cache, bad)));
        errno = 0;
        BOOST_TEST(allot_kmem_cache_alloc_bulk(cache, bad, 3, objects) == 0u);
        BOOST_TEST(errno == EINVAL);
        allot_kmem_cache_destroy(cache);
    }
}

BOOST_FIXTURE_TEST_CASE(atomic_and_nofail_go_over_the_limit_and_are_counted, full) {
    for (allot_gfp how : {ALLOT_ATOMIC, ALLOT_NOFAIL})
        for (std::size_t size : sizes) {
            std::uint64_t before = forced(), refusals = oom();
            void *p = allot_kmalloc(size, how | ALLOT_ZERO);
            BOOST_TEST_REQUIRE(p != nullptr);
            BOOST_TEST(is_filled(p, size, 0));
            BOOST_TEST(heap_owner_of(p) == t);
            BOOST_TEST(tenant_current(t) == 64 * kib + allot_usable_size(p));
            BOOST_TEST(forced() >= before + allot_usable_size(p));
            BOOST_TEST(oom() == refusals);
            verify_result all = verify();
            BOOST_TEST(all.differences == 0u, all.first);
            allot_kfree(p);
            BOOST_TEST(tenant_current(t) == 64 * kib);
            BOOST_TEST(heap_malloc(16) == nullptr); // the next is as ordinary as ever
        }
}

BOOST_FIXTURE_TEST_CASE(nowait_and_kernel_are_refused, full) {
    for (std::size_t size : sizes)
        for (allot_gfp how : {ALLOT_KERNEL, ALLOT_NOWAIT, ALLOT_NOWAIT | ALLOT_ZERO}) {
            std::uint64_t refusals = oom();
            errno = 0;
            BOOST_TEST(allot_kmalloc(size, how) == nullptr);
            BOOST_TEST(errno == ENOMEM);
            BOOST_TEST(oom() == refusals + 1);
        }
    BOOST_TEST(tenant_current(t) == 64 * kib);
}

BOOST_FIXTURE_TEST_CASE(what_is_unaccounted_needs_no_room, full) {
    for (allot_gfp how : {ALLOT_KERNEL, ALLOT_NOWAIT, ALLOT_ATOMIC, ALLOT_NOFAIL}) {
        std::uint64_t before = forced();
        void *p = allot_kzalloc(1000, how | ALLOT_UNACCOUNTED);
        BOOST_TEST_REQUIRE(p != nullptr);
        BOOST_TEST(heap_owner_of(p) == tenant_root());
        BOOST_TEST(forced() == before);
        allot_kfree(p);
    }
    BOOST_TEST(heap_active() == t);
}

BOOST_FIXTURE_TEST_CASE(krealloc_grows_as_its_flags_say, full) {
    void *p = filling.back();
    filling.pop_back();
    errno = 0;
    BOOST_TEST(allot_krealloc(p, 9000, ALLOT_NOWAIT) == nullptr);
    BOOST_TEST(errno == ENOMEM);
    p = allot_krealloc(p, 9000, ALLOT_ATOMIC);
    BOOST_TEST_REQUIRE(p != nullptr);
    p = allot_krealloc(p, 2 * mib, ALLOT_NOFAIL);
    BOOST_TEST_REQUIRE(p != nullptr);
    BOOST_TEST(allot_krealloc(p, 5 * mib, ALLOT_KERNEL) == nullptr);
    p = allot_krealloc(p, 5 * mib, ALLOT_NOFAIL); // in place, or moved
    BOOST_TEST_REQUIRE(p != nullptr);
    BOOST_TEST(tenant_current(t) == 64 * kib - 1024 + 5 * mib);
    allot_kfree(p);
}

namespace {

bool constructor_allocates = false;
void *made_by_constructor = nullptr;
void construct(void *) {
    if (constructor_allocates) made_by_constructor = heap_malloc(100);
}

} // namespace

BOOST_FIXTURE_TEST_CASE(caches_obey_flags_and_constructors_do_not, full) {
    for (size_t alignment : {size_t{0}, size_t{128}}) {
        allot_kmem_cache *cache = allot_kmem_cache_create("c", 200, alignment, ALLOT_CACHE_DEFAULT, construct);
        void *objects[50];
        constructor_allocates = false;
        BOOST_TEST(allot_kmem_cache_alloc_bulk(cache, ALLOT_KERNEL, 50, objects) == 0u);
        BOOST_TEST(allot_kmem_cache_alloc_bulk(cache, ALLOT_NOWAIT, 50, objects) == 0u);
        BOOST_TEST(errno == ENOMEM);
        BOOST_TEST(tenant_current(t) == 64 * kib); // all or none
        BOOST_TEST(allot_kmem_cache_alloc_bulk(cache, ALLOT_ATOMIC | ALLOT_ZERO, 50, objects) == 50u);
        for (void *object : objects) BOOST_TEST(is_filled(object, 200, 0));
        allot_kmem_cache_free_bulk(cache, 50, objects);
        constructor_allocates = true;
        void *object = allot_kmem_cache_alloc(cache, ALLOT_NOFAIL);
        BOOST_TEST(object != nullptr);
        BOOST_TEST(made_by_constructor == nullptr); // an ordinary allocation: refused
        allot_kmem_cache_free(cache, object);
        allot_kmem_cache_destroy(cache);
    }
}
