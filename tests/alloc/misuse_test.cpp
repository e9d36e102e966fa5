#define BOOST_TEST_MODULE misuse
#include <boost/test/unit_test.hpp>

#include "alloc/misuse.hpp"
#include "tests/support/allocated.hpp"
#include "tests/support/child.hpp"

#include <cstdio>
#include <string>
#include <thread>
#include <vector>

using namespace allot;

namespace {

// What a misuse prints, with the address given as %p in `expected`. The misuse happens in a child, on a block of its own;
// it writes the address before.
template<typename Misuse>
void dies(const char *what, const char *expected, Misuse misuse) {
    child_end end = in_child([&] {
        misuse();
        return 0;
    });
    BOOST_TEST(end.aborted(), what << ": status " << end.status << " " << end.text);
    std::size_t line = end.text.find('\n');
    std::string address = end.text.substr(0, line), said = line == std::string::npos ? "" : end.text.substr(line + 1);
    std::string wanted = expected;
    wanted.replace(wanted.find("%p"), 2, address);
    BOOST_TEST(said == wanted + "\n", what << ": said \"" << said << "\", expected \"" << wanted << '"');
}

void *announced(void *p) {
    std::string line(64, '\0');
    line.resize(static_cast<std::size_t>(std::snprintf(line.data(), line.size(), "%p\n", p)));
    (void)!write(2, line.data(), line.size());
    return p;
}
char *at(void *p, std::size_t offset) { return static_cast<char *>(p) + offset; }

// Private slabs: the tenant of the process. Shared ones: a tenant that is small.
enum class slabs { own, shared };
void *block(std::size_t size, slabs kind) {
    heap_set_active(kind == slabs::own ? tenant_default() : tenant_create_path("/case"));
    (void)heap_malloc(size); // a neighbour, so that the slab does not become empty
    return heap_malloc(size);
}
void in_another_thread(void (*body)(void *), void *p) { std::thread(body, p).join(); }

} // namespace

BOOST_FIXTURE_TEST_CASE(an_immediate_double_free_is_named, allocated) {
    dies("own", "allot: double free of %p, size class 48, tenant /", [] {
        void *p = announced(block(40, slabs::own));
        heap_free(p);
        heap_free(p);
    });
    dies("shared", "allot: double free of %p, size class 48", [] {
        void *p = announced(block(40, slabs::shared));
        heap_free(p);
        heap_free(p);
    });
}

BOOST_FIXTURE_TEST_CASE(a_delayed_double_free_is_named, allocated) {
    dies("own", "allot: double free of %p, size class 1024, tenant /", [] {
        void *p = announced(block(1000, slabs::own));
        std::vector<void *> others;
        for (int i = 0; i < 100; ++i) others.push_back(heap_malloc(1000));
        heap_free(p);
        for (void *other : others) heap_free(other);
        heap_free(p);
    });
}

BOOST_FIXTURE_TEST_CASE(a_double_free_across_threads_is_named_both_ways, allocated) {
    dies("remote, then here", "allot: double free of %p, size class 64, tenant /", [] {
        void *p = announced(block(64, slabs::own));
        in_another_thread(heap_free, p);
        heap_free(p);
    });
    dies("here, then remote", "allot: double free of %p, size class 64, tenant /", [] {
        void *p = announced(block(64, slabs::own));
        heap_free(p);
        in_another_thread(heap_free, p);
    });
    dies("twice remote", "allot: double free of %p, size class 64", [] {
        void *p = announced(block(64, slabs::shared));
        in_another_thread(heap_free, p);
        in_another_thread(heap_free, p);
    });
}

BOOST_FIXTURE_TEST_CASE(a_double_free_of_a_large_block_is_named, allocated) {
    dies("large", "allot: double or invalid free of %p: no block is there", [] {
        void *p = announced(block(300000, slabs::own));
        heap_free(p);
        heap_free(p);
    });
}

BOOST_FIXTURE_TEST_CASE(a_pointer_into_a_block_is_named, allocated) {
    for (slabs kind : {slabs::own, slabs::shared}) {
        const char *expected = kind == slabs::own
                                   ? "allot: invalid free of %p, size class 96, tenant /: it lies inside a block"
                                   : "allot: invalid free of %p, size class 96, tenant /case: it lies inside a block";
        dies("interior", expected, [kind] { heap_free(announced(at(block(96, kind), 32))); });
    }
    dies("unaligned",
         "allot: unaligned free of %p, size class 96, tenant /: not aligned to 16 bytes, so no block starts there",
         [] { heap_free(announced(at(block(96, slabs::own), 8))); });
    dies("first unit of a large block",
         "allot: invalid free of %p, block of 602112 bytes, tenant /: it lies inside a block",
         [] { heap_free(announced(at(block(600000, slabs::own), 4096))); });
    dies("second unit of a large block", "allot: invalid free of %p: it lies inside a block",
         [] { heap_free(announced(at(block(600000, slabs::own), unit_bytes))); });
}

BOOST_FIXTURE_TEST_CASE(a_slot_that_was_never_handed_out_is_named_where_the_slow_path_looks, allocated) {
    dies("never carved", "allot: invalid free of %p, size class 512, tenant /: no block was ever there", [] {
        void *p = announced(at(block(512, slabs::own), 128 * 1024));
        in_another_thread(heap_free, p);
    });
    dies("carved", "allot: double free of %p, size class 512, tenant /", [] {
        void *p = announced(at(block(512, slabs::own), 512)); // the next in its list
        heap_free(p);
    });
}

BOOST_FIXTURE_TEST_CASE(a_size_that_cannot_be_the_blocks_own_is_named, allocated) {
    dies("small", "allot: sized free of %p, size class 48, tenant /: the size given, 49, cannot be its own",
         [] { heap_free_sized(announced(block(48, slabs::own)), 49); });
    dies("large", "allot: sized free of %p, block of 102400 bytes, tenant /: the size given, 200000, cannot be its own",
         [] { heap_free_sized(announced(block(100 * 1024, slabs::own)), 200000); });
}

BOOST_FIXTURE_TEST_CASE(a_pointer_of_nobodys_is_named, allocated) {
    static char here[64];
    dies("free", "allot: free of %p: not a block of this allocator", [] { heap_free(announced(here)); });
    dies("realloc", "allot: realloc of %p: not a block of this allocator",
         [] { (void)heap_realloc(announced(here), 9); });
    dies("usable size", "allot: malloc_usable_size of %p: not a block of this allocator",
         [] { (void)heap_usable_size(announced(here)); });
}

BOOST_FIXTURE_TEST_CASE(realloc_and_usable_size_of_a_freed_block_are_noticed, allocated) {
    dies("realloc", "allot: double free of %p, size class 64, tenant /", [] {
        void *p = announced(block(64, slabs::own));
        heap_free(p);
        (void)heap_realloc(p, 1000);
    });
    dies("usable size", "allot: double free of %p, size class 64, tenant /", [] {
        void *p = announced(block(64, slabs::own));
        heap_free(p);
        (void)heap_usable_size(p);
    });
}

// The first word is what a double free is known by; nothing that a program leaves there may look like one.
BOOST_FIXTURE_TEST_CASE(no_content_of_a_live_block_is_taken_for_a_free_one, allocated) {
    heap_set_active(tenant_default());
    std::vector<void *> held;
    for (int i = 0; i < 1000; ++i) held.push_back(heap_malloc(32));
    for (std::size_t i = 0; i < held.size(); ++i) {
        auto *word = static_cast<std::uintptr_t *>(held[i]);
        word[0] = i % 3 == 0   ? reinterpret_cast<std::uintptr_t>(held[(i + 1) % held.size()])
                  : i % 3 == 1 ? 0
                               : ~std::uintptr_t{0};
        word[1] = 0;
    }
    for (void *p : held) heap_free(p);
    heap_set_active(top);
    BOOST_TEST(tenant_current(tenant_default()) == 0u);
}
