#define BOOST_TEST_MODULE alloc
#include <boost/test/unit_test.hpp>

#include "alloc/alloc.hpp"
#include "alloc/size_class.hpp"
#include "tests/support/allocated.hpp"

#include <cerrno>
#include <cstdint>
#include <limits>
#include <vector>

using namespace allot;

namespace {

constexpr std::size_t kib = 1024, mib = kib * kib;

bool is_zero(const void *p, std::size_t bytes) { return is_filled(p, bytes, 0); }
std::size_t address(const void *p) { return reinterpret_cast<std::uintptr_t>(p); }

// Sizes around every border there is: classes, bins, units, what is charged directly.
std::vector<std::size_t> interesting_sizes() {
    std::vector<std::size_t> sizes{0, 1, 15, 16, 17};
    for (unsigned c = 0; c < nr_classes; ++c)
        for (std::size_t near : {class_bytes(c) - 1, class_bytes(c), class_bytes(c) + 1}) sizes.push_back(near);
    for (std::size_t border : {unit_bytes, 2 * unit_bytes, mib, 2 * mib})
        for (std::size_t near : {border - 4096, border - 1, border, border + 1}) sizes.push_back(near);
    return sizes;
}

} // namespace

BOOST_FIXTURE_TEST_CASE(each_size_gives_a_block_that_is_aligned_and_wholly_usable, allocated) {
    for (std::size_t size : interesting_sizes()) {
        void *p = heap_malloc(size);
        BOOST_TEST_REQUIRE(p != nullptr, size);
        BOOST_TEST(address(p) % 16 == 0u);
        BOOST_TEST(heap_owns(p));
        std::size_t usable = heap_usable_size(p);
        BOOST_TEST(usable >= size);
        BOOST_TEST(usable - size <= (size <= medium_max_bytes ? size / 4 + 16 : 4095u), "size " << size);
        std::memset(p, 0xa5, usable);
        BOOST_TEST(heap_usable_size(p) == usable);
        BOOST_TEST(tenant_current(top) == usable);
        heap_free(p);
        BOOST_TEST(tenant_current(top) == 0u);
    }
}

BOOST_FIXTURE_TEST_CASE(every_alignment_holds_for_sizes_around_it, allocated) {
    for (std::size_t alignment = 1; alignment <= 64 * mib; alignment *= 2)
        for (std::size_t size :
             {std::size_t{0}, std::size_t{1}, alignment - 1, alignment, alignment + 1, std::size_t{100}}) {
            void *held[2] = {heap_aligned_alloc(alignment, size), heap_aligned_alloc(alignment, size)};
            for (void *p : held) {
                BOOST_TEST_REQUIRE(p != nullptr, alignment << " " << size);
                BOOST_TEST(address(p) % alignment == 0u, alignment << " " << size);
                BOOST_TEST(heap_usable_size(p) >= size);
                *static_cast<volatile char *>(p) = 1;
            }
            for (void *p : held) heap_free_aligned_sized(p, alignment, size);
        }
}

BOOST_FIXTURE_TEST_CASE(impossible_sizes_are_enomem_from_every_function_and_change_nothing, allocated) {
    constexpr std::size_t top_size = std::numeric_limits<std::size_t>::max();
    void *old = heap_malloc(100);
    fill(old, 100, 1);
    int pattern = *static_cast<unsigned char *>(old);
    std::uint64_t before = tenant_current(top);
    auto refused = [&](void *p) {
        bool ok = p == nullptr && errno == ENOMEM && tenant_current(top) == before;
        errno = 0;
        return ok;
    };
    errno = 0;
    for (std::size_t size :
         {top_size, top_size - 15, top_size - 4095, top_size / 2, top_size / 2 + 1, std::size_t{1} << 45}) {
        BOOST_TEST(refused(heap_malloc(size)), size);
        BOOST_TEST(refused(heap_calloc(1, size)), size);
        BOOST_TEST(refused(heap_realloc(old, size)), size);
        BOOST_TEST(refused(heap_aligned_alloc(64, size)), size);
        BOOST_TEST(refused(heap_aligned_alloc(2 * mib, size)), size);
    }
    BOOST_TEST(refused(heap_calloc(std::size_t{1} << 33, std::size_t{1} << 33)));
    BOOST_TEST(refused(heap_calloc(top_size - 1, top_size - 2)));
    for (unsigned shift = 41; shift < 64; ++shift)
        BOOST_TEST(refused(heap_aligned_alloc(std::size_t{1} << shift, 1)), shift);
    BOOST_TEST(is_filled(old, 100, static_cast<unsigned>(pattern)));
    heap_free(old);
}

BOOST_FIXTURE_TEST_CASE(calloc_is_zero_after_dirty_reuse_and_after_a_purge, allocated) {
    for (std::size_t size : interesting_sizes()) {
        for (int life = 0; life < 3; ++life) {
            void *held[3];
            for (void *&p : held) {
                p = heap_calloc(1, size);
                BOOST_TEST_REQUIRE(p != nullptr);
                BOOST_TEST(is_zero(p, size), "size " << size << " life " << life);
                std::memset(p, 0xff, heap_usable_size(p));
            }
            for (void *p : held) heap_free(p);
            if (life == 1) heap_trim(0);
        }
    }
}

BOOST_FIXTURE_TEST_CASE(realloc_keeps_contents_up_and_down_all_sizes, allocated) {
    std::vector<std::size_t> sizes = interesting_sizes();
    for (std::size_t step : {std::size_t{1}, std::size_t{7}, std::size_t{31}}) {
        void *p = nullptr;
        std::size_t had = 0;
        for (std::size_t at = 0, count = 0; count < 2 * sizes.size(); at = (at + step) % sizes.size(), ++count) {
            std::size_t size = sizes[at] == 0 ? 1 : sizes[at];
            p = heap_realloc(p, size);
            BOOST_TEST_REQUIRE(p != nullptr);
            BOOST_TEST(is_filled(p, size < had ? size : had, 0x5a), "to " << size);
            BOOST_TEST(tenant_current(top) == heap_usable_size(p));
            std::memset(p, 0x5a, size);
            had = size;
        }
        heap_free(p);
    }
}

BOOST_FIXTURE_TEST_CASE(realloc_at_the_edges_does_as_glibc_does, allocated) {
    void *p = heap_realloc(nullptr, 0);
    BOOST_TEST(p != nullptr);
    errno = 0;
    BOOST_TEST(heap_realloc(p, 0) == nullptr);
    BOOST_TEST(errno == 0);
    BOOST_TEST(tenant_current(top) == 0u);
    heap_free(nullptr);
    BOOST_TEST(heap_usable_size(nullptr) == 0u);
    BOOST_TEST(heap_owner_of(nullptr) == nullptr);
}

// It needs room for the old and the new block at once; where there is none, the old block is large enough.
BOOST_FIXTURE_TEST_CASE(a_shrinking_realloc_is_never_refused, allocated) {
    allot_tenant *t = make("/case/t", "192K");
    heap_set_active(t);
    for (std::size_t from : {std::size_t{1000}, std::size_t{40 * kib}, std::size_t{100 * kib}}) {
        void *p = heap_malloc(from);
        std::memset(p, 3, from);
        std::vector<void *> rest;
        for (std::size_t size : {std::size_t{1024}, std::size_t{16}})
            while (void *more = heap_malloc(size)) rest.push_back(more);
        errno = 0;
        void *q = heap_realloc(p, 100);
        BOOST_TEST_REQUIRE(q != nullptr, from);
        BOOST_TEST(errno == 0);
        BOOST_TEST(is_filled(q, 100, 3));
        heap_free(q);
        for (void *more : rest) heap_free(more);
    }
    heap_set_active(top);
}

BOOST_FIXTURE_TEST_CASE(errno_survives_success_and_every_free, allocated) {
    for (std::size_t size : interesting_sizes()) {
        errno = 7;
        void *p = heap_calloc(1, size);
        p = heap_realloc(p, size + 1);
        BOOST_TEST(errno == 7);
        errno = 8;
        heap_free(p);
        BOOST_TEST(errno == 8);
    }
    heap_trim(0);
    BOOST_TEST(errno == 8);
}

BOOST_FIXTURE_TEST_CASE(a_block_knows_its_owner_whoever_is_active, allocated) {
    allot_tenant *a = make("/case/a"), *b = make("/case/b");
    for (std::size_t size : interesting_sizes()) {
        heap_set_active(a);
        void *p = heap_malloc(size);
        heap_set_active(b);
        BOOST_TEST(heap_owner_of(p) == a);
        BOOST_TEST(tenant_current(a) == heap_usable_size(p));
        heap_free(p);
        BOOST_TEST(tenant_current(a) == 0u);
        BOOST_TEST(tenant_current(b) == 0u);
    }
    heap_set_active(top);
}

BOOST_FIXTURE_TEST_CASE(a_trim_gives_back_what_is_free_and_keeps_what_it_is_told, allocated) {
    heap_trim(0);
    std::vector<void *> held;
    for (int i = 0; i < 64; ++i) std::memset(held.emplace_back(heap_malloc(200 * kib)), 1, 200 * kib);
    for (void *p : held) heap_free(p);
    BOOST_TEST(heap_statistics_get().cached_bytes >= 64 * unit_bytes);
    BOOST_TEST(heap_trim(4 * unit_bytes) >= 60 * unit_bytes);
    BOOST_TEST(heap_statistics_get().cached_bytes == 4 * unit_bytes);
}

BOOST_FIXTURE_TEST_CASE(sized_frees_of_every_size_that_fits_are_accepted, allocated) {
    for (std::size_t size : interesting_sizes()) {
        heap_free_sized(heap_malloc(size), size);
        void *aligned = heap_aligned_alloc(4096, size);
        heap_free_aligned_sized(aligned, 4096, size);
    }
    heap_free_sized(nullptr, 5);
    BOOST_TEST(tenant_current(top) == 0u);
}
