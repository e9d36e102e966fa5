#define BOOST_TEST_MODULE large
#include <boost/test/unit_test.hpp>

#include "accounting/base/os.hpp"
#include "alloc/large.hpp"
#include "alloc/reset.hpp"
#include "tests/support/allocated.hpp"
#include "tests/support/child.hpp"
#include "tests/support/sanitized.hpp"

#include <cerrno>
#include <fstream>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <random>
#include <string>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <thread>
#include <vector>

using namespace allot;

namespace {

constexpr std::size_t kib = 1024, mib = kib * kib;

int nr_maps() {
    std::ifstream maps("/proc/self/maps");
    int count = 0;
    for (std::string line; std::getline(maps, line);) ++count;
    return count;
}

// A large block, and one right behind it, so that it cannot grow where it stands.
struct hemmed_in {
    char *block;
    std::vector<void *> behind;
    explicit hemmed_in(std::size_t size) : block(static_cast<char *>(heap_malloc(size))) {
        allot_tenant *payer = heap_set_active(tenant_default());
        const slab *next = slab_of(block) + (size + unit_bytes - 1) / unit_bytes;
        while (kind_of(next) == unit_kind::free || kind_of(next) == unit_kind::unmapped)
            behind.push_back(heap_malloc(256 * kib));
        heap_set_active(payer);
    }
    ~hemmed_in() {
        for (void *p : behind) heap_free(p);
    }
};

// Bytes that differ from page to page.
void number_pages(char *p, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; at += 4096) *reinterpret_cast<std::size_t *>(p + at) = at + 1;
}
bool are_pages_numbered(const char *p, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; at += 4096)
        if (*reinterpret_cast<const std::size_t *>(p + at) != at + 1) return false;
    return true;
}

} // namespace

BOOST_FIXTURE_TEST_CASE(whole_pages_are_usable_and_charged, allocated) {
    for (std::size_t size : {65 * kib, 100 * kib + 1, mib - 1, mib, mib + 1, 5 * mib + 123}) {
        void *p = heap_malloc(size);
        BOOST_TEST(heap_usable_size(p) == (size + 4095) / 4096 * 4096);
        BOOST_TEST(tenant_current(top) == heap_usable_size(p));
        BOOST_TEST(number(top, "memory.current") == heap_usable_size(p));
        heap_free(p);
        BOOST_TEST(tenant_current(top) == 0u);
    }
}

BOOST_FIXTURE_TEST_CASE(a_block_grows_in_place_into_free_units, allocated) {
    char *p = static_cast<char *>(heap_malloc(300 * kib));
    std::memset(p, 1, 300 * kib);
    BOOST_TEST(heap_realloc(p, 500 * kib) == p);  // within its units
    BOOST_TEST(heap_realloc(p, 1020 * kib) == p); // into the next
    BOOST_TEST(heap_usable_size(p) == 1020 * kib);
    BOOST_TEST(tenant_current(top) == 1020 * kib);
    std::memset(p + 300 * kib, 2, 720 * kib);
    BOOST_TEST(is_filled(p, 300 * kib, 1));
    heap_free(p);
}

BOOST_FIXTURE_TEST_CASE(a_block_with_a_neighbour_moves_with_its_contents, allocated) {
    heap_trim(0);
    char *p = static_cast<char *>(heap_malloc(256 * kib));
    std::vector<void *> neighbours;
    for (int i = 0; i < 40; ++i) neighbours.push_back(heap_malloc(256 * kib));
    std::memset(p, 1, 256 * kib);
    char *moved = static_cast<char *>(heap_realloc(p, 600 * kib));
    BOOST_TEST((moved != p));
    BOOST_TEST(is_filled(moved, 256 * kib, 1));
    for (void *n : neighbours) heap_free(n);
    BOOST_TEST(tenant_current(top) == 600 * kib);
    heap_free(moved);
}

BOOST_FIXTURE_TEST_CASE(a_block_that_shrinks_gives_its_units_and_its_charge_back, allocated) {
    char *p = static_cast<char *>(heap_malloc(8 * mib));
    std::memset(p, 1, 8 * mib);
    std::uint32_t before = units_in_use();
    BOOST_TEST(heap_realloc(p, 2 * mib) == p);
    BOOST_TEST(units_in_use() == before - 24);
    BOOST_TEST(tenant_current(top) == 2 * mib);
    BOOST_TEST(is_filled(p, 2 * mib, 1));
    BOOST_TEST(verify().differences == 0u);
    heap_free(p);
}

// Below 1 MiB a block is on a context's books, above on the tenant's own.
BOOST_FIXTURE_TEST_CASE(crossing_the_border_of_the_two_books_is_exact_both_ways, allocated) {
    void *p = heap_malloc(900 * kib);
    for (std::size_t size : {mib, mib - 4096, 3 * mib, 72 * kib, mib + 4096, 1020 * kib}) {
        p = heap_realloc(p, size);
        BOOST_TEST_REQUIRE(p != nullptr);
        BOOST_TEST(tenant_current(top) == size);
        verify_result result = verify();
        BOOST_TEST(result.differences == 0u, result.first);
    }
    heap_free(p);
}

BOOST_FIXTURE_TEST_CASE(a_refused_block_or_growth_changes_nothing, allocated) {
    allot_tenant *t = make("/case/t", "4M");
    heap_set_active(t);
    void *p = heap_malloc(3 * mib);
    std::memset(p, 9, 3 * mib);
    std::uint64_t usage = usage_of("/case"), peak = number(t, "memory.peak");
    std::uint32_t units = units_in_use();
    errno = 0;
    BOOST_TEST(heap_malloc(2 * mib) == nullptr);
    BOOST_TEST(errno == ENOMEM);
    BOOST_TEST(heap_realloc(p, 5 * mib) == nullptr);
    BOOST_TEST(heap_calloc(2, mib) == nullptr);
    BOOST_TEST(heap_aligned_alloc(2 * mib, 2 * mib) == nullptr);
    BOOST_TEST(usage_of("/case") == usage);
    BOOST_TEST(number(t, "memory.peak") == peak);
    BOOST_TEST(units_in_use() == units);
    BOOST_TEST(is_filled(p, 3 * mib, 9));
    BOOST_TEST(heap_realloc(p, 4 * mib) == p); // exactly to the limit
    heap_free(p);
    heap_set_active(top);
}

BOOST_FIXTURE_TEST_CASE(calloc_needs_no_clearing_of_what_the_system_has_just_given, allocated) {
    home *h = home_here();
    heap_trim(0);
    large_block first = large_alloc(h, h->current, mib, 16);
    BOOST_TEST(first.zero);
    std::memset(first.block, 1, mib);
    heap_free(first.block);
    large_block second = large_alloc(h, h->current, mib, 16);
    BOOST_TEST(second.block == first.block);
    BOOST_TEST(!second.zero);
    heap_free(second.block);
}

BOOST_FIXTURE_TEST_CASE(any_thread_frees_it_and_its_owner_is_credited_at_once, allocated) {
    allot_tenant *a = make("/case/a"), *b = make("/case/b");
    heap_set_active(a);
    void *small = heap_malloc(200 * kib), *big = heap_malloc(3 * mib);
    heap_set_active(top);
    std::thread([&] {
        heap_set_active(b);
        heap_free(small);
        BOOST_TEST(tenant_current(a) == 3 * mib);
        heap_free(big);
        BOOST_TEST(tenant_current(a) == 0u);
        BOOST_TEST(tenant_current(b) == 0u);
    }).join();
}

// Between the two books a growth is charged once, not the whole block again: it fits where both blocks would not.
BOOST_FIXTURE_TEST_CASE(growth_needs_room_for_what_is_new_alone, allocated) {
    allot_tenant *t = make("/case/t", "4M");
    heap_set_active(t);
    hemmed_in h(900 * kib);
    number_pages(h.block, 900 * kib);
    char *p = static_cast<char *>(heap_realloc(h.block, 3800 * kib));
    BOOST_TEST_REQUIRE(p != nullptr);
    BOOST_TEST((p != h.block));
    BOOST_TEST(tenant_current(t) == 3800 * kib);
    BOOST_TEST(verify().differences == 0u, verify().first);
    p = static_cast<char *>(heap_realloc(p, 512 * kib));
    BOOST_TEST(are_pages_numbered(p, 512 * kib));
    BOOST_TEST(verify().differences == 0u, verify().first);
    heap_free(p);
    heap_set_active(top);
}

BOOST_FIXTURE_TEST_CASE(a_block_that_is_hemmed_in_moves_its_pages_and_keeps_its_owner, allocated) {
    allot_tenant *a = make("/case/a");
    heap_set_active(a);
    heap_trim(0);
    for (std::size_t from : {300 * kib, 1020 * kib, 2 * mib, 5 * mib + 8192}) {
        hemmed_in h(from);
        number_pages(h.block, from);
        char *was = h.block;
        std::uint32_t before = units_in_use();
        char *p = static_cast<char *>(heap_realloc(was, 3 * from));
        BOOST_TEST_REQUIRE(p != nullptr);
        BOOST_TEST((p != was));
        BOOST_TEST(are_pages_numbered(p, from));
        BOOST_TEST(is_filled(p + (from + 4095) / 4096 * 4096, 4096, 0)); // of fresh units: nothing of others
        BOOST_TEST(heap_owner_of(p) == a);
        BOOST_TEST(heap_usable_size(p) == (3 * from + 4095) / 4096 * 4096);
        BOOST_TEST(units_in_use() ==
                   before + (3 * from + unit_bytes - 1) / unit_bytes - (from + unit_bytes - 1) / unit_bytes);
        BOOST_TEST(verify().differences == 0u, verify().first);
        char *again = static_cast<char *>(heap_calloc(1, from)); // where it was, perhaps: nothing is left of it
        BOOST_TEST(is_filled(again, from, 0));
        heap_free(again);
        heap_free(p);
    }
    heap_set_active(top);
}

namespace {

// calloc until a block lies there; whether it is all zero.
bool is_zero_if_had_again(const char *there, std::size_t size) {
    std::vector<void *> others;
    bool was_had = false, is_zero = true;
    for (int i = 0; i < 24 && !was_had; ++i) {
        char *p = static_cast<char *>(heap_calloc(1, size));
        was_had = p == there;
        is_zero = is_zero && is_filled(p, size, 0);
        others.push_back(p);
    }
    for (void *p : others) heap_free(p);
    return was_had && is_zero;
}

} // namespace

// The last unit of a block holds more than the block: what earlier blocks left there. That does not move.
BOOST_FIXTURE_TEST_CASE(what_lies_behind_pages_that_move_is_cleared_by_calloc, allocated) {
    heap_trim(0);
    char *earlier = static_cast<char *>(heap_malloc(512 * kib));
    std::memset(earlier, 0xee, 512 * kib);
    heap_free(earlier);
    {
        hemmed_in h(300 * kib);
        BOOST_TEST_REQUIRE((h.block == earlier));
        char *p = static_cast<char *>(heap_realloc(h.block, 2 * mib));
        BOOST_TEST((p != earlier));
        BOOST_TEST(is_zero_if_had_again(earlier, 512 * kib));
        heap_free(p);
    }
    heap_trim(0);
    hemmed_in h(512 * kib); // the same of a block that has been larger
    std::memset(h.block, 0xee, 512 * kib);
    BOOST_TEST_REQUIRE((heap_realloc(h.block, 300 * kib) == h.block));
    char *p = static_cast<char *>(heap_realloc(h.block, 2 * mib));
    BOOST_TEST((p != h.block));
    BOOST_TEST(is_zero_if_had_again(h.block, 512 * kib));
    heap_free(p);
}

// The system takes away what is at the new place before it finds that it must not move anything: here because the process
// has more than it may have.
BOOST_FIXTURE_TEST_CASE(where_pages_cannot_be_moved_they_are_copied, allocated,
                        *boost::unit_test::precondition(address_space_can_be_limited)) {
    child_end end = in_child([&] {
        heap_free(heap_malloc(48 * mib)); // memory to go to
        hemmed_in first(512 * kib), second(512 * kib);
        number_pages(first.block, 512 * kib);
        number_pages(second.block, 512 * kib);
        rlimit before{}, little{};
        if (getrlimit(RLIMIT_AS, &before) != 0) return 2;
        little = {mib, before.rlim_max};
        if (setrlimit(RLIMIT_AS, &little) != 0) return 2;
        for (char *block : {first.block, second.block}) {
            char *p = static_cast<char *>(heap_realloc(block, 2 * mib));
            if (p == nullptr || p == block || !are_pages_numbered(p, 512 * kib)) return 3;
            std::memset(p, 1, 2 * mib);
            heap_free(p);
        }
        if (setrlimit(RLIMIT_AS, &before) != 0) return 2; // a recount takes memory
        return verify().differences == 0 ? 0 : 4;
    });
    BOOST_TEST(end.exited_with(0), end.status);
}

namespace {

// From now on the process dies of these.
bool forbid(std::initializer_list<long> calls) {
    std::vector<sock_filter> program{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
    for (long call : calls) {
        program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 1));
        program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
    }
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    sock_fprog whole{static_cast<unsigned short>(program.size()), program.data()};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &whole) == 0;
}

} // namespace

BOOST_FIXTURE_TEST_CASE(once_seccomp_is_set_up_blocks_grow_and_go_without_a_call, allocated,
                        *boost::unit_test::precondition(address_space_can_be_limited)) {
    child_end end = in_child([&] {
        heap_free(heap_malloc(48 * mib));
        hemmed_in first(512 * kib), second(512 * kib);
        number_pages(first.block, 512 * kib);
        number_pages(second.block, 512 * kib);
        char *moved_before = static_cast<char *>(heap_realloc(first.block, mib));
        std::memset(moved_before, 0xee, mib);
        heap_seccomp_seen();
        if (!forbid({SYS_mremap, SYS_madvise, SYS_mmap, SYS_munmap})) return 2;
        char *p = static_cast<char *>(heap_realloc(second.block, 2 * mib));
        if (p == nullptr || p == second.block || !are_pages_numbered(p, 512 * kib)) return 3;
        heap_free(p);
        heap_free(moved_before);
        return is_zero_if_had_again(moved_before, mib) ? 0 : 4;
    });
    BOOST_TEST(end.exited_with(0), end.status);
}

// What a child inherited it cannot give back by another call than a program is known to make.
BOOST_FIXTURE_TEST_CASE(once_seccomp_is_set_up_what_was_inherited_goes_without_a_call, allocated,
                        *boost::unit_test::precondition(address_space_can_be_limited)) {
    void *inherited = heap_malloc(mib);
    child_end end = in_child([&] {
        heap_free(heap_malloc(mib));
        heap_seccomp_seen();
        if (!forbid({SYS_madvise})) return 2;
        heap_free(inherited);
        return 0;
    });
    BOOST_TEST(end.exited_with(0), end.status);
    heap_free(inherited);
}

// Its limit only says where it cannot grow: nobody was refused anything, and nobody is later.
BOOST_FIXTURE_TEST_CASE(growth_of_anothers_block_that_moves_instead_is_no_refusal, allocated) {
    allot_tenant *a = make("/case/a", "8M"), *b = make("/case/b", "4M"), *c = make("/case/c");
    heap_set_active(b);
    void *of_b = heap_malloc(3 * mib);
    heap_set_active(a);
    void *of_a = heap_malloc(3 * mib), *rest = heap_malloc(4 * mib);
    heap_set_active(c);
    of_a = heap_realloc(of_a, 5 * mib);
    BOOST_TEST((heap_owner_of(of_a) == c));
    heap_set_active(a);
    heap_free(rest);
    of_b = heap_realloc(of_b, 5 * mib);
    BOOST_TEST((heap_owner_of(of_b) == a));
    for (allot_tenant *t : {a, b, c}) BOOST_TEST(keyed(t, "memory.events", "oom") == 0u);
    heap_free(of_a);
    heap_free(of_b);
    heap_set_active(top);
}

// A child whose books could not be made charges nobody, whose number is that of who has no heap.
BOOST_FIXTURE_TEST_CASE(a_thread_without_a_heap_grows_nothing_by_itself, allocated) {
    void *p = heap_malloc(100 * kib);
    slab *s = slab_of(p);
    std::uint32_t owner = s->obj_cgroup;
    s->obj_cgroup = 0;
    heap_front wiped{};
    for (const heap_front *front : {&front_of_nobody, &wiped})
        BOOST_TEST(!large_resize_here(s, p, front->of, 110 * kib));
    s->obj_cgroup = owner;
    heap_free(p);
}

// Each moved block is a map or two of its own while it lives, and not one longer; and there are few of them.
BOOST_FIXTURE_TEST_CASE(moved_pages_leave_no_maps_behind_and_are_bounded, allocated) {
    int before = nr_maps();
    std::vector<char *> moved;
    for (int i = 0; i < 300; ++i) {
        hemmed_in h(256 * kib);
        number_pages(h.block, 256 * kib);
        moved.push_back(static_cast<char *>(heap_realloc(h.block, 300 * kib)));
    }
    BOOST_TEST(nr_maps() > before + 10); // or nothing is shown here
    BOOST_TEST(nr_maps() < before + 300);
    for (char *p : moved) BOOST_TEST_REQUIRE(are_pages_numbered(p, 256 * kib));
    for (char *p : moved) heap_free(p);
    heap_trim(0);
    BOOST_TEST(nr_maps() <= before + 10); // sanitizers map for themselves
}

BOOST_FIXTURE_TEST_CASE(moved_blocks_grow_shrink_and_move_again, allocated) {
    heap_trim(0);
    hemmed_in h(512 * kib);
    number_pages(h.block, 512 * kib);
    char *p = static_cast<char *>(heap_realloc(h.block, mib + 4096));
    std::vector<void *> fence;
    for (int i = 0; i < 40; ++i) fence.push_back(heap_malloc(256 * kib));
    number_pages(p, mib + 4096);
    p = static_cast<char *>(heap_realloc(p, 9 * mib));
    BOOST_TEST(are_pages_numbered(p, mib + 4096));
    p = static_cast<char *>(heap_realloc(p, 300 * kib));
    BOOST_TEST(are_pages_numbered(p, 300 * kib));
    p = static_cast<char *>(heap_realloc(p, 2 * mib));
    BOOST_TEST(are_pages_numbered(p, 300 * kib));
    BOOST_TEST(tenant_current(top) == 2 * mib + 40 * 256 * kib);
    for (void *f : fence) heap_free(f);
    heap_free(p);
    BOOST_TEST(verify().differences == 0u, verify().first);
}

// A string that is appended to: its first move is to another slot, the second to a unit of its own.
BOOST_FIXTURE_TEST_CASE(a_small_block_that_grows_again_and_again_stays_where_it_is, allocated) {
    for (std::size_t last : {4 * kib, 64 * kib, 700 * kib, 3 * mib}) {
        char *p = static_cast<char *>(heap_malloc(16));
        std::size_t had = 16;
        std::memset(p, 0x5a, had);
        int moves = 0;
        while (had != last) {
            std::size_t size = had + had / 2 < last ? had + had / 2 : last;
            char *q = static_cast<char *>(heap_realloc(p, size));
            BOOST_TEST_REQUIRE(q != nullptr);
            moves += q != p;
            p = q;
            BOOST_TEST(is_filled(p, had, 0x5a));
            BOOST_TEST(heap_usable_size(p) >= size);
            BOOST_TEST(heap_usable_size(p) - size < 4096u);
            BOOST_TEST(tenant_current(top) == heap_usable_size(p));
            std::memset(p, 0x5a, size);
            had = size;
        }
        BOOST_TEST(moves == 2);
        BOOST_TEST(verify().differences == 0u, verify().first);
        p = static_cast<char *>(heap_realloc(p, 100)); // and is a slot again when it is small
        BOOST_TEST(heap_usable_size(p) == 112u);
        BOOST_TEST(is_filled(p, 100, 0x5a));
        BOOST_TEST(tenant_current(top) == 112u);
        heap_free(p);
    }
}

BOOST_FIXTURE_TEST_CASE(few_small_blocks_have_units_of_their_own_however_many_grow, allocated) {
    std::vector<char *> blocks;
    std::uint32_t before = units_in_use();
    for (int i = 0; i < 1000; ++i) {
        char *p = static_cast<char *>(heap_malloc(16));
        for (std::size_t size : {std::size_t{40}, std::size_t{100}, std::size_t{300}}) {
            p = static_cast<char *>(heap_realloc(p, size));
            std::memset(p, i & 0xff, size);
        }
        blocks.push_back(p);
    }
    BOOST_TEST(units_in_use() <= before + 64 + 10);
    std::uint64_t usable = 0;
    for (char *p : blocks) usable += heap_usable_size(p);
    BOOST_TEST(tenant_current(top) == usable);
    for (int i = 0; i < 1000; ++i)
        BOOST_TEST_REQUIRE(is_filled(blocks[static_cast<std::size_t>(i)], 300, static_cast<unsigned>(i & 0xff)));
    for (char *p : blocks) heap_free(p);
    // They are all gone: the next one has its own again.
    char *p = static_cast<char *>(heap_malloc(16));
    for (std::size_t size : {std::size_t{40}, std::size_t{100}}) p = static_cast<char *>(heap_realloc(p, size));
    BOOST_TEST((slab_of(p)->kind == unit_kind::large));
    heap_free(p);
}

// A unit of its own may cost a tenant a few bytes more than a slot: at its limit it gets the slot.
BOOST_FIXTURE_TEST_CASE(a_block_that_grows_at_a_limit_is_refused_where_a_slot_would_be, allocated) {
    allot_tenant *t = make("/case/t", "64K");
    heap_set_active(t);
    std::vector<void *> rest;
    while (void *more = heap_malloc(1024)) rest.push_back(more);
    heap_free(rest.back());
    rest.pop_back();
    std::uint64_t free = 64 * kib - tenant_current(t);
    char *p = static_cast<char *>(heap_malloc(16));
    for (std::size_t size : {std::size_t{32}, std::size_t{48}, std::size_t{64}, std::size_t{96}})
        p = static_cast<char *>(heap_realloc(p, size));
    BOOST_TEST_REQUIRE(p != nullptr);
    BOOST_TEST(heap_usable_size(p) <= free);
    BOOST_TEST(heap_realloc(p, 3000) == nullptr);
    BOOST_TEST(errno == ENOMEM);
    BOOST_TEST(heap_realloc(p, free - 256) != nullptr);
    heap_free(rest.back());
    rest.pop_back();
    BOOST_TEST(verify().differences == 0u, verify().first);
    heap_set_active(top);
    BOOST_TEST(heap_reset(t) == 0);
}

BOOST_FIXTURE_TEST_CASE(a_child_moves_what_it_inherited_and_leaves_the_parents_books_alone, allocated) {
    char *grown = static_cast<char *>(heap_malloc(16));
    for (std::size_t size : {std::size_t{40}, std::size_t{100}, std::size_t{5000}})
        std::memset(grown = static_cast<char *>(heap_realloc(grown, size)), 0x11, size);
    hemmed_in h(512 * kib);
    number_pages(h.block, 512 * kib);
    char *moved = static_cast<char *>(heap_realloc(h.block, mib));
    child_end end = in_child([&] {
        char *p = static_cast<char *>(heap_realloc(grown, 9000));
        char *q = static_cast<char *>(heap_realloc(moved, 3 * mib));
        if (p == grown || q == moved) return 2;
        bool ok = is_filled(p, 5000, 0x11) && are_pages_numbered(q, 512 * kib);
        heap_free(p);
        heap_free(q);
        return !ok ? 3 : verify().differences == 0 ? 0 : 4;
    });
    BOOST_TEST(end.status == 0);
    BOOST_TEST(is_filled(grown, 5000, 0x11));
    BOOST_TEST(are_pages_numbered(moved, 512 * kib));
    heap_free(grown);
    heap_free(moved);
}

// A model of contents, sizes and charges under random growth and shrinkage of many blocks at once.
BOOST_FIXTURE_TEST_CASE(random_resizes_keep_contents_sizes_and_books, allocated) {
    struct held {
        char *p;
        std::size_t size;
    };
    std::mt19937 random(11);
    std::vector<held> blocks(24);
    for (int step = 0; step < 2500; ++step) {
        held &b = blocks[random() % blocks.size()];
        unsigned pattern = static_cast<unsigned>(&b - blocks.data()) + 1;
        std::size_t size = 1 + random() % (std::size_t{1} << (4 + random() % 18));
        if (b.p != nullptr && random() % 3 != 0) size = b.size + b.size / 4 + 1; // most grow a little
        if (size > 4 * mib || random() % 12 == 0) {
            heap_free(b.p);
            b = {};
            continue;
        }
        b.p = static_cast<char *>(heap_realloc(b.p, size));
        BOOST_TEST_REQUIRE(b.p != nullptr);
        BOOST_TEST_REQUIRE(is_filled(b.p, size < b.size ? size : b.size, pattern));
        std::memset(b.p, static_cast<int>(pattern), size);
        b.size = size;
        if (step % 200 != 0) continue;
        std::uint64_t usable = 0;
        for (const held &each : blocks) usable += heap_usable_size(each.p);
        BOOST_TEST_REQUIRE(tenant_current(top) == usable);
        BOOST_TEST_REQUIRE(verify().differences == 0u, verify().first);
        if (step % 1000 == 0) heap_trim(0);
    }
    for (held &b : blocks) heap_free(b.p);
}

BOOST_FIXTURE_TEST_CASE(calloc_does_not_touch_what_is_zero_already, allocated) {
    heap_trim(0);
    for (std::size_t size : {8 * kib, 32 * kib, 64 * kib, 3 * mib}) {
        char *p = static_cast<char *>(heap_calloc(1, size));
        BOOST_TEST(os_resident_bytes(reinterpret_cast<std::uintptr_t>(p), size) <= 4096u, size);
        std::memset(p, 1, size);
        heap_free(p);
        p = static_cast<char *>(heap_calloc(1, size));
        BOOST_TEST(is_filled(p, size, 0), size);
        heap_free(p);
        heap_trim(0);
    }
    // Where only the beginning was used, only the beginning is cleared.
    char *p = static_cast<char *>(heap_malloc(100 * kib));
    std::memset(p, 1, 100 * kib);
    heap_free(p);
    p = static_cast<char *>(heap_calloc(1, 5 * mib));
    BOOST_TEST(is_filled(p, 100 * kib, 0));
    BOOST_TEST(os_resident_bytes(reinterpret_cast<std::uintptr_t>(p), 5 * mib) <= 100 * kib);
    heap_free(p);
}
