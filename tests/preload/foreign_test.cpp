// Blocks of this process's libc, and everything that only looks like one.
#define BOOST_TEST_MODULE foreign
#include "preload/foreign.hpp"

#include "alloc/alloc.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <cstdlib>
#include <malloc.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace allot;

namespace {
foreign_pointer_handler handler;
} // namespace

namespace allot {
void *heap_malloc(std::size_t size) { return std::malloc(size); }
void heap_set_foreign_handler(const foreign_pointer_handler &given) { handler = given; }
} // namespace allot

BOOST_AUTO_TEST_CASE(blocks_of_libcs_heap_are_known_at_every_size) {
    for (std::size_t size : {1u, 24u, 25u, 1000u, 100000u}) {
        void *p = std::malloc(size);
        BOOST_TEST((foreign_kind_of(p) == foreign_kind::libc_heap), size);
        std::free(p);
    }
}

BOOST_AUTO_TEST_CASE(blocks_that_libc_maps_by_themselves_are_known_also_when_aligned) {
    for (std::size_t alignment = 16; alignment <= (1u << 21); alignment *= 2) {
        void *p = ::memalign(alignment, 64 << 20);
        BOOST_REQUIRE(p);
        BOOST_TEST((foreign_kind_of(p) == foreign_kind::libc_mapping), alignment);
        std::free(p);
    }
}

BOOST_AUTO_TEST_CASE(blocks_of_another_threads_arena_are_known) {
    std::thread([] {
        void *p = std::malloc(100);
        void *q = std::malloc(60000);
        BOOST_TEST((foreign_kind_of(p) == foreign_kind::libc_arena));
        BOOST_TEST((foreign_kind_of(q) == foreign_kind::libc_arena));
        std::free(p);
        std::free(q);
    }).join();
}

BOOST_AUTO_TEST_CASE(what_cannot_be_a_block_is_named_without_being_touched) {
    const auto at = [](std::uintptr_t address) { return foreign_kind_of(reinterpret_cast<void *>(address)); };
    BOOST_TEST((at(8) == foreign_kind::unaligned));
    BOOST_TEST((at(16) == foreign_kind::unmapped));
    BOOST_TEST((at(0xdead0000) == foreign_kind::unmapped));
    BOOST_TEST((at(UINTPTR_MAX - 15) == foreign_kind::unmapped));
    BOOST_TEST((at(std::uintptr_t{1} << 63) == foreign_kind::unmapped));
}

BOOST_AUTO_TEST_CASE(stacks_static_objects_and_mappings_are_no_blocks) {
    alignas(16) char on_stack[64] = {};
    alignas(16) static char statically[64] = {};
    BOOST_TEST((foreign_kind_of(on_stack + 32) == foreign_kind::unknown));
    BOOST_TEST((foreign_kind_of(statically + 32) == foreign_kind::unknown));
    auto *map = static_cast<char *>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    BOOST_TEST((foreign_kind_of(map + 4096) == foreign_kind::unknown));
    mprotect(map, 4096, PROT_NONE);
    BOOST_TEST((foreign_kind_of(map + 64) == foreign_kind::unmapped));
    BOOST_TEST((foreign_kind_of(map + 4096) == foreign_kind::unmapped)); // the word before it is what cannot be read
    munmap(map, 8192);
}

BOOST_AUTO_TEST_CASE(realloc_moves_a_foreign_block_with_its_contents) {
    foreign_start();
    auto *p = static_cast<unsigned char *>(std::malloc(100));
    for (int i = 0; i < 100; ++i) p[i] = static_cast<unsigned char>(i);
    BOOST_TEST(handler.usable_size(p) >= 100u);
    auto *q = static_cast<unsigned char *>(handler.realloc(p, 5000));
    for (int i = 0; i < 100; ++i) BOOST_REQUIRE(q[i] == i);
    BOOST_TEST(handler.realloc(q, 0) == nullptr);
    handler.free(std::malloc(10));
}
