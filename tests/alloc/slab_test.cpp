#define BOOST_TEST_MODULE slab
#include <boost/test/unit_test.hpp>

#include "alloc/slab.hpp"

#include <cstdlib>
#include <memory>

using namespace allot;

namespace {

constexpr std::uint32_t granules_per_unit = unit_bytes / granule_bytes;

slab slab_of_size(std::size_t slot_bytes) {
    slab s{};
    std::uint64_t inverse = inverse_of(static_cast<std::uint32_t>(slot_bytes));
    s.inverse = static_cast<std::uint32_t>(inverse);
    s.inverse_limit = static_cast<std::uint32_t>(inverse - 1);
    return s;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_slot_starts_where_the_remainder_is_zero_for_every_class_and_granule) {
    for (unsigned c = 0; c < nr_classes; ++c) {
        slab s = slab_of_size(class_bytes(c));
        std::uint32_t granules = static_cast<std::uint32_t>(class_bytes(c) / granule_bytes), wrong = 0;
        for (std::uint32_t g = 0; g < granules_per_unit; ++g) wrong += slot_starts_at(&s, g) != (g % granules == 0);
        BOOST_TEST(wrong == 0u, "class " << class_bytes(c));
    }
}

BOOST_AUTO_TEST_CASE(the_index_of_a_slot_is_the_quotient_for_every_class_and_slot) {
    for (unsigned c = 0; c < nr_classes; ++c) {
        slab s = slab_of_size(class_bytes(c));
        std::uint32_t granules = static_cast<std::uint32_t>(class_bytes(c) / granule_bytes), wrong = 0;
        for (std::uint32_t g = 0; g < granules_per_unit; ++g) wrong += slot_index(&s, g) != g / granules;
        BOOST_TEST(wrong == 0u, "class " << class_bytes(c));
    }
}

// A slab in memory of the test's own: slots come back in the order last in, first out, and the list ends where it began.
BOOST_AUTO_TEST_CASE(popped_slots_are_pushed_back_and_popped_again) {
    std::unique_ptr<void, void (*)(void *)> unit(std::aligned_alloc(unit_bytes, unit_bytes), std::free);
    auto address = reinterpret_cast<std::uintptr_t>(unit.get());
    slab s{};
    s.key = 0x9e3779b97f4a7c15;
    s.list = end_of_list(address);
    void *slots[4];
    for (std::size_t i = 0; i < 4; ++i) slab_push(&s, slots[i] = reinterpret_cast<void *>(address + i * 64));
    for (std::size_t i = 4; i-- > 0;) {
        BOOST_TEST(slab_pop(&s) == slots[i]);
        BOOST_TEST(first_word(slots[i]) == 0u);
    }
    BOOST_TEST(s.list == end_of_list(address));
}

BOOST_AUTO_TEST_CASE(a_slot_is_marked_free_from_push_to_pop_and_by_its_own_slabs_key_alone) {
    std::unique_ptr<void, void (*)(void *)> unit(std::aligned_alloc(unit_bytes, unit_bytes), std::free);
    auto address = reinterpret_cast<std::uintptr_t>(unit.get());
    slab s{};
    s.key = 0x9e3779b97f4a7c15;
    s.remote_key = s.key ^ address;
    s.list = end_of_list(address);
    void *first = unit.get(), *second = reinterpret_cast<void *>(address + 64);
    slab_push(&s, first); // its link is the end of the list
    slab_push(&s, second);
    BOOST_TEST(marked_free(first_word(first), s.remote_key));
    BOOST_TEST(marked_free(first_word(second), s.remote_key));
    BOOST_TEST(!marked_free(first_word(second), s.remote_key ^ (std::uint64_t{1} << 40)));
    BOOST_TEST(slab_pop(&s) == second);
    BOOST_TEST(!marked_free(first_word(second), s.remote_key));
    BOOST_TEST(!marked_free(address, s.remote_key)); // what a program may well store there
}

BOOST_AUTO_TEST_CASE(what_other_threads_read_is_not_on_the_line_that_the_owner_writes) {
    BOOST_TEST(offsetof(slab, owner) < 64u);
    BOOST_TEST(offsetof(slab, account) < 64u);
    BOOST_TEST(offsetof(slab, remote_key) >= 64u);
    BOOST_TEST(alignof(slab) == 64u);
}
