#define BOOST_TEST_MODULE owner_vector
#include <boost/test/unit_test.hpp>

#include "alloc/heap.hpp"
#include "alloc/memory_figures.hpp"
#include "alloc/metadata.hpp"
#include "alloc/owner_vector.hpp"
#include "alloc/transfer.hpp"
#include "tests/support/allocated.hpp"
#include "tests/support/child.hpp"

#include <atomic>
#include <thread>

using namespace allot;

BOOST_FIXTURE_TEST_CASE(a_private_slab_has_no_vector_until_one_is_made, allocated) {
    heap_set_active(tenant_default());
    void *p = heap_malloc(128), *q = heap_malloc(128);
    slab *s = slab_of(p);
    BOOST_TEST(owners_of(s) == nullptr);
    std::uint32_t own = owner_of_block(s, p);
    BOOST_TEST(own == s->obj_cgroup);
    std::uint32_t *owners = owner_vector_make(s);
    BOOST_TEST_REQUIRE(owners != nullptr);
    BOOST_TEST(owner_vector_make(s) == owners);
    BOOST_TEST(owner_of_block(s, p) == own);
    taken_owner taken = take_owner(s, p);
    BOOST_TEST(taken.index == own);
    BOOST_TEST(!taken.has_reference);
    heap_free(p);
    heap_free(q);
    heap_set_active(top);
}

// Two who are the first at once use one vector, and the other one is freed: a second would lose the owners in the first.
BOOST_FIXTURE_TEST_CASE(two_who_need_the_first_vector_at_once_get_the_same, allocated) {
    heap_set_active(tenant_default());
    void *p = heap_malloc(128);
    slab *s = slab_of(p);
    std::atomic<unsigned> begun{0}, ended{0};
    std::uint32_t *others = nullptr;
    auto wait_for = [](const std::atomic<unsigned> &step, unsigned number) {
        for (unsigned looks = 1; step.load() != number; ++looks)
            if (looks % 256 == 0) std::this_thread::yield();
    };
    constexpr unsigned rounds = 4000;
    std::thread other([&] {
        for (unsigned round = 1; round <= rounds; ++round) {
            wait_for(begun, round);
            others = owner_vector_make(s);
            ended = round;
        }
    });
    unsigned different = 0;
    std::uint64_t overhead = 0;
    for (unsigned round = 1; round <= rounds; ++round) {
        begun = round;
        std::uint32_t *owners = owner_vector_make(s);
        wait_for(ended, round);
        different += owners == nullptr || owners != others || owners != owners_of(s);
        s->owners = nullptr;
        metadata_free(owners, owner_vector_bytes(s->slot_bytes));
        if (round == rounds / 2) overhead = memory_figures_get().overhead;
    }
    other.join();
    BOOST_TEST(different == 0u);
    BOOST_TEST(memory_figures_get().overhead < overhead + rounds / 2 * owner_vector_bytes(s->slot_bytes) / 4);
    heap_free(p);
    heap_set_active(top);
}

BOOST_FIXTURE_TEST_CASE(an_entry_of_a_shared_slab_is_taken_once, allocated) {
    allot_tenant *t = make("/case/t");
    heap_set_active(t);
    void *p = heap_malloc(128);
    slab *s = slab_of(p);
    BOOST_TEST_REQUIRE((s->kind == unit_kind::shared_slab));
    std::uint32_t owner = owner_of_block(s, p);
    BOOST_TEST(hooks::tenant_of_owner(owner) == t);
    child_end end = in_child([&] {
        std::uint32_t entry = take_owner(s, p).index;
        return entry == owner && take_owner(s, p).index == 0 ? 1 : 2; // the second one is reported
    });
    BOOST_TEST(end.aborted());
    BOOST_TEST(end.text.find("double or invalid free") != std::string::npos, end.text);
    heap_free(p);
    heap_set_active(top);
}

BOOST_FIXTURE_TEST_CASE(a_block_that_is_being_transferred_is_not_freed, allocated) {
    heap_set_active(tenant_default());
    void *p = heap_malloc(128);
    slab *s = slab_of(p);
    BOOST_TEST_REQUIRE(owner_vector_make(s) != nullptr);
    child_end end = in_child([&] {
        owners_of(s)[slot_index_of(s, p)] = in_transfer;
        (void)take_owner(s, p);
        return 0;
    });
    BOOST_TEST(end.aborted());
    heap_free(p);
    heap_set_active(top);
}

BOOST_FIXTURE_TEST_CASE(only_the_start_of_a_live_block_is_one, allocated) {
    char *p = static_cast<char *>(heap_malloc(128)), *large = static_cast<char *>(heap_malloc(300000));
    BOOST_TEST(is_live_block(slab_of(p), p));
    BOOST_TEST(!is_live_block(slab_of(p), p + 8));
    BOOST_TEST(!is_live_block(slab_of(p), p + 16));
    BOOST_TEST(!is_live_block(slab_of(p), p + 100 * 128)); // never handed out
    BOOST_TEST(is_live_block(slab_of(large), large));
    BOOST_TEST(!is_live_block(slab_of(large), large + 4096));
    BOOST_TEST(!is_live_block(slab_of(large + 262144), large + 262144));
    heap_free(p);
    BOOST_TEST(!is_live_block(slab_of(p), p));
    heap_free(large);
    BOOST_TEST(!is_live_block(slab_of(large), large));
}
