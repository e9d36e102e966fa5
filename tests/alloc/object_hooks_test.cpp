// With null_hooks: the same allocator, bound to nothing.
#define BOOST_TEST_MODULE object_hooks
#include <boost/test/unit_test.hpp>

#include "alloc/adopt.hpp"
#include "alloc/alloc.hpp"
#include "alloc/fast_path.hpp"

#include <cstring>
#include <random>
#include <thread>
#include <type_traits>
#include <vector>

using namespace allot;

namespace {

bool is_zero(const void *p, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i)
        if (static_cast<const char *>(p)[i] != 0) return false;
    return true;
}

} // namespace

BOOST_AUTO_TEST_CASE(hooks_that_do_nothing_take_no_byte) {
    BOOST_TEST((std::is_same_v<hooks, null_hooks>));
    struct without {
        std::uint64_t word;
    };
    struct with {
        std::uint64_t word;
        [[no_unique_address]] null_hooks::slab_part part;
    };
    BOOST_TEST(sizeof(with) == sizeof(without));
    BOOST_TEST(sizeof(slab) == 128u);
}

BOOST_AUTO_TEST_CASE(nothing_is_charged_and_everything_has_slabs_of_its_own) {
    void *p = heap_malloc(100);
    BOOST_TEST((slab_of(p)->kind == unit_kind::private_slab));
    BOOST_TEST(heap_owner_of(p) == nullptr);
    BOOST_TEST(heap_set_active(nullptr) == nullptr);
    heap_free(p);
}

BOOST_AUTO_TEST_CASE(blocks_of_every_size_live_and_are_freed_on_any_thread) {
    std::mt19937 random(3);
    std::vector<std::pair<char *, std::size_t>> held;
    for (int i = 0; i < 20000; ++i) {
        if (held.size() < 500 || random() % 2 == 0) {
            std::size_t size = random() % 100 == 0 ? random() % 2000000 : random() % (1u << (4 + random() % 12));
            char *p = static_cast<char *>(i % 2 == 0 ? heap_malloc(size) : heap_calloc(1, size));
            BOOST_TEST_REQUIRE(p != nullptr);
            if (i % 2 != 0) BOOST_TEST_REQUIRE(is_zero(p, size));
            if (size != 0) p[0] = p[size - 1] = static_cast<char>(size);
            held.emplace_back(p, size);
        } else {
            std::swap(held[random() % held.size()], held.back());
            auto [p, size] = held.back();
            held.pop_back();
            if (size != 0)
                BOOST_TEST_REQUIRE((p[0] == static_cast<char>(size) && p[size - 1] == static_cast<char>(size)));
            heap_free(p);
        }
    }
    std::thread([&] {
        for (auto [p, size] : held) heap_free(p);
    }).join();
    home_leave(home_here());
    for (home *h = homes_first(); h != nullptr; h = h->next_home) adopt_collect_for(h);
    BOOST_TEST(heap_statistics_get().live_objects == 0u);
    BOOST_TEST(heap_statistics_get().live_bytes == 0u);
}
