// The mapping functions with real mappings of this process and a bill kept here: what is charged is compared with what
// the rules say, and with the state of the address space where that can be told.
#define BOOST_TEST_MODULE mappings
#include "preload/mappings.hpp"

#include "accounting/accounting.hpp"
#include "accounting/settle.hpp"
#include "preload/mapping_books.hpp"
#include "preload/mapping_owner.hpp"
#include "tests/support/sanitized.hpp"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <pthread.h>
#include <random>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace allot;

namespace {

constexpr std::uint32_t tenant_a = 1;
constexpr std::uint32_t tenant_b = 2;

// The bill. Never below zero; a limit refuses.
std::atomic<std::int64_t> charged[3];
std::atomic<std::int64_t> pinned[3];
std::int64_t limit[3];
thread_local std::uint32_t active = tenant_a;
std::atomic<std::int64_t> uncounted;
std::atomic<std::int64_t> given_up[3]; // of what was inherited
std::atomic<bool> went_negative;
std::atomic<void (*)()> at_next_uncharge; // what another thread, or a handler, does at that moment
bool (*at_refusal)();                     // user code; true: it made room
int settled;                              // charges above `high`

} // namespace

namespace allot {
std::uint32_t mapping_owner() {
    ++pinned[active];
    return active;
}
void mapping_free_inherited(std::uint32_t owner, std::uint64_t bytes) {
    given_up[owner] += static_cast<std::int64_t>(bytes);
}
void mapping_note_uncounted(std::int64_t bytes) {
    if ((uncounted += bytes) < 0) went_negative = true;
}
bool charge_bytes(std::uint32_t owner, std::uint64_t bytes, charge_kind, refusal &left) {
    const auto delta = static_cast<std::int64_t>(bytes);
    if (charged[owner].fetch_add(delta) + delta <= limit[owner]) return true;
    charged[owner] -= delta;
    left.asked = owner;
    return false;
}
bool settle_refusal(refusal &left) {
    if (left.asked != active) went_negative = true;
    return at_refusal != nullptr && at_refusal();
}
void settle_charge(std::uint32_t) {
    charges_here.flags = 0;
    ++settled;
}
void uncharge_bytes(std::uint32_t owner, std::uint64_t bytes, charge_kind) {
    if (auto *meanwhile = at_next_uncharge.exchange(nullptr)) meanwhile();
    if ((charged[owner] -= static_cast<std::int64_t>(bytes)) < 0) went_negative = true;
}
void obj_cgroup_grab(std::uint32_t owner, std::uint32_t n) { pinned[owner] += n; }
void obj_cgroup_put(std::uint32_t owner, std::uint32_t n) {
    if ((pinned[owner] -= n) < 0) went_negative = true;
}
} // namespace allot

namespace {

const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
constexpr int anonymous = MAP_PRIVATE | MAP_ANONYMOUS;
constexpr int read_write = PROT_READ | PROT_WRITE;

char *map(std::size_t pages, int protection = read_write, int flags = anonymous, void *where = nullptr) {
    return static_cast<char *>(mapped_mmap(where, pages * page, protection, flags, -1, 0));
}
std::int64_t pages_of(std::uint32_t owner) { return charged[owner] / static_cast<std::int64_t>(page); }

// Boost would compare and print char pointers as texts.
bool same(const void *one, const void *other) { return one == other; }

struct books {
    books() {
        active = tenant_a;
        at_refusal = nullptr;
        for (auto &l : limit) l = std::int64_t{1} << 50;
    }
    ~books() { // whatever a case does, it ends with everything unmapped and nothing owed
        for (int owner : {1, 2}) {
            BOOST_TEST(charged[owner] == 0);
            BOOST_TEST(pinned[owner] == 0);
        }
        BOOST_TEST(!went_negative);
        BOOST_TEST(mapping_statistics_get().charged_bytes == 0u);
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(mapping_functions, books)

BOOST_AUTO_TEST_CASE(writable_private_anonymous_memory_is_charged_and_given_back) {
    char *p = map(10);
    BOOST_REQUIRE(!same(p, MAP_FAILED));
    std::memset(p, 1, 10 * page);
    BOOST_TEST(pages_of(tenant_a) == 10);
    BOOST_TEST(mapped_munmap(p, 10 * page) == 0);
    BOOST_TEST(pages_of(tenant_a) == 0);
}

BOOST_AUTO_TEST_CASE(a_length_is_rounded_up_to_pages) {
    void *p = mapped_mmap(nullptr, 1, read_write, anonymous, -1, 0);
    BOOST_TEST(pages_of(tenant_a) == 1);
    BOOST_TEST(mapped_munmap(p, 1) == 0);
}

BOOST_AUTO_TEST_CASE(a_reservation_is_free_until_a_part_is_made_writable) {
    char *p = map(100, PROT_NONE);
    BOOST_TEST(pages_of(tenant_a) == 0);
    BOOST_TEST(mapped_mprotect(p + 10 * page, 5 * page, read_write) == 0);
    BOOST_TEST(pages_of(tenant_a) == 5);
    BOOST_TEST(mapped_mprotect(p + 12 * page, 10 * page, read_write) == 0); // three of them are paid already
    BOOST_TEST(pages_of(tenant_a) == 12);
    BOOST_TEST(mapped_munmap(p, 100 * page) == 0);
}

BOOST_AUTO_TEST_CASE(read_only_memory_is_free_until_it_is_writable) {
    char *p = map(4, PROT_READ);
    BOOST_TEST(pages_of(tenant_a) == 0);
    BOOST_TEST(mapped_mprotect(p, 4 * page, read_write) == 0);
    BOOST_TEST(pages_of(tenant_a) == 4);
    BOOST_TEST(mapped_munmap(p, 4 * page) == 0);
}

BOOST_AUTO_TEST_CASE(memory_stays_charged_when_it_is_made_read_only_or_unreachable) {
    char *p = map(4);
    for (int protection : {PROT_READ, PROT_NONE, read_write}) {
        BOOST_TEST(mapped_mprotect(p, 4 * page, protection) == 0);
        BOOST_TEST(pages_of(tenant_a) == 4);
    }
    BOOST_TEST(mapped_munmap(p, 4 * page) == 0);
}

BOOST_AUTO_TEST_CASE(a_refused_mapping_is_enomem_and_changes_nothing) {
    limit[tenant_a] = static_cast<std::int64_t>(8 * page);
    char *p = map(8);
    errno = 0;
    BOOST_TEST(same(map(1), MAP_FAILED));
    BOOST_TEST(errno == ENOMEM);
    BOOST_TEST(pages_of(tenant_a) == 8);
    BOOST_TEST(mapped_munmap(p, 8 * page) == 0);
}

BOOST_AUTO_TEST_CASE(a_refused_mprotect_is_enomem_and_leaves_the_protection) {
    limit[tenant_a] = static_cast<std::int64_t>(2 * page);
    char *p = map(8, PROT_NONE);
    errno = 0;
    BOOST_TEST(mapped_mprotect(p, 3 * page, read_write) == -1);
    BOOST_TEST(errno == ENOMEM);
    BOOST_TEST(pages_of(tenant_a) == 0);
    int fds[2];
    BOOST_REQUIRE(pipe(fds) == 0);
    BOOST_TEST(write(fds[1], p, 1) == -1); // EFAULT: still not readable
    close(fds[0]);
    close(fds[1]);
    BOOST_TEST(mapped_mprotect(p, 2 * page, read_write) == 0);
    BOOST_TEST(mapped_munmap(p, 8 * page) == 0);
}

BOOST_AUTO_TEST_CASE(an_unmapped_part_in_the_middle_is_given_back_alone) {
    char *p = map(10);
    BOOST_TEST(mapped_munmap(p + 3 * page, 4 * page) == 0);
    BOOST_TEST(pages_of(tenant_a) == 6);
    BOOST_TEST(mapped_munmap(p, 10 * page) == 0); // across the hole
    BOOST_TEST(pages_of(tenant_a) == 0);
}

BOOST_AUTO_TEST_CASE(the_tenant_that_was_charged_is_credited_whoever_unmaps) {
    char *p = map(4);
    active = tenant_b;
    char *q = map(2);
    BOOST_TEST(pages_of(tenant_a) == 4);
    BOOST_TEST(pages_of(tenant_b) == 2);
    std::thread([=] { BOOST_TEST(mapped_munmap(p, 4 * page) == 0); }).join();
    BOOST_TEST(pages_of(tenant_a) == 0);
    BOOST_TEST(pages_of(tenant_b) == 2);
    BOOST_TEST(mapped_munmap(q, 2 * page) == 0);
}

BOOST_AUTO_TEST_CASE(a_fixed_mapping_replaces_the_charge_of_what_it_covers) {
    char *p = map(10);
    active = tenant_b;
    BOOST_TEST(same(map(4, read_write, anonymous | MAP_FIXED, p + 2 * page), p + 2 * page));
    BOOST_TEST(pages_of(tenant_a) == 6);
    BOOST_TEST(pages_of(tenant_b) == 4);
    BOOST_TEST(same(map(10, PROT_NONE, anonymous | MAP_FIXED, p), p)); // the usual way to give memory back
    BOOST_TEST(pages_of(tenant_a) == 0);
    BOOST_TEST(pages_of(tenant_b) == 0);
    BOOST_TEST(mapped_munmap(p, 10 * page) == 0);
}

BOOST_AUTO_TEST_CASE(replacing_ones_own_mapping_at_the_limit_is_not_refused) {
    limit[tenant_a] = static_cast<std::int64_t>(10 * page);
    char *p = map(10);
    BOOST_TEST(same(map(10, read_write, anonymous | MAP_FIXED, p), p));
    BOOST_TEST(pages_of(tenant_a) == 10);
    BOOST_TEST(same(map(11, read_write, anonymous | MAP_FIXED, p), MAP_FAILED));
    BOOST_TEST(pages_of(tenant_a) == 10);
    BOOST_TEST(mapped_munmap(p, 10 * page) == 0);
}

BOOST_AUTO_TEST_CASE(fixed_noreplace_onto_something_fails_and_changes_nothing) {
    char *p = map(4);
    errno = 0;
    BOOST_TEST(same(map(4, read_write, anonymous | MAP_FIXED_NOREPLACE, p), MAP_FAILED));
    BOOST_TEST(errno == EEXIST);
    BOOST_TEST(pages_of(tenant_a) == 4);
    BOOST_TEST(mapped_munmap(p, 4 * page) == 0);
}

BOOST_AUTO_TEST_CASE(a_file_mapped_over_memory_takes_its_place_free_of_charge) {
    char *p = map(4);
    const int fd = open("/proc/self/exe", O_RDONLY);
    BOOST_TEST(same(mapped_mmap(p, 2 * page, read_write, MAP_PRIVATE | MAP_FIXED, fd, 0), p));
    close(fd);
    BOOST_TEST(pages_of(tenant_a) == 2);
    BOOST_TEST(mapped_munmap(p, 4 * page) == 0);
}

BOOST_AUTO_TEST_CASE(shared_and_file_mappings_are_not_charged) {
    void *shared = mapped_mmap(nullptr, page, read_write, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const int fd = open("/proc/self/exe", O_RDONLY);
    void *file = mapped_mmap(nullptr, page, read_write, MAP_PRIVATE, fd, 0);
    close(fd);
    BOOST_REQUIRE(!same(file, MAP_FAILED));
    BOOST_TEST(pages_of(tenant_a) == 0);
    BOOST_TEST(mapped_mprotect(file, page, read_write) == 0);
    BOOST_TEST(pages_of(tenant_a) == 0);
    BOOST_TEST(mapped_munmap(shared, page) == 0);
    BOOST_TEST(mapped_munmap(file, page) == 0);
}

BOOST_AUTO_TEST_CASE(mremap_charges_growth_and_gives_back_what_is_cut_off) {
    char *p = map(4);
    std::memset(p, 7, 4 * page);
    char *q = static_cast<char *>(mapped_mremap(p, 4 * page, 64 * page, MREMAP_MAYMOVE, nullptr));
    BOOST_REQUIRE(!same(q, MAP_FAILED));
    BOOST_TEST(pages_of(tenant_a) == 64);
    BOOST_TEST(q[4 * page - 1] == 7);
    q[64 * page - 1] = 1;
    BOOST_TEST(same(mapped_mremap(q, 64 * page, 3 * page, 0, nullptr), q));
    BOOST_TEST(pages_of(tenant_a) == 3);
    BOOST_TEST(mapped_munmap(q, 3 * page) == 0);
}

BOOST_AUTO_TEST_CASE(growth_by_another_tenant_is_its_own_to_pay) {
    char *p = map(4);
    active = tenant_b;
    char *q = static_cast<char *>(mapped_mremap(p, 4 * page, 10 * page, MREMAP_MAYMOVE, nullptr));
    BOOST_TEST(pages_of(tenant_a) == 4);
    BOOST_TEST(pages_of(tenant_b) == 6);
    BOOST_TEST(mapped_munmap(q, 10 * page) == 0);
}

BOOST_AUTO_TEST_CASE(a_refused_mremap_leaves_the_mapping_usable) {
    limit[tenant_a] = static_cast<std::int64_t>(8 * page);
    char *p = map(8);
    errno = 0;
    BOOST_TEST(same(mapped_mremap(p, 8 * page, 9 * page, MREMAP_MAYMOVE, nullptr), MAP_FAILED));
    BOOST_TEST(errno == ENOMEM);
    p[8 * page - 1] = 1;
    BOOST_TEST(pages_of(tenant_a) == 8);
    BOOST_TEST(mapped_munmap(p, 8 * page) == 0);
}

BOOST_AUTO_TEST_CASE(mremap_to_a_fixed_place_takes_the_place_of_what_was_there) {
    char *p = map(4);
    active = tenant_b;
    char *q = map(8);
    BOOST_TEST(same(mapped_mremap(p, 4 * page, 2 * page, MREMAP_MAYMOVE | MREMAP_FIXED, q), q));
    BOOST_TEST(pages_of(tenant_a) == 2);
    BOOST_TEST(pages_of(tenant_b) == 6);
    BOOST_TEST(mapped_munmap(q, 8 * page) == 0);
}

namespace {
char *tail;
}

// The uncharge of what lay at the target is the first thing that happens after the kernel has answered.
BOOST_AUTO_TEST_CASE(what_is_mapped_meanwhile_where_mremap_has_cut_off_keeps_its_charge) {
    char *p = map(8);
    char *q = map(8);
    tail = p + 2 * page;
    at_next_uncharge = [] {
        active = tenant_b;
        BOOST_TEST(same(map(6, read_write, anonymous | MAP_FIXED_NOREPLACE, tail), tail));
        active = tenant_a;
    };
    BOOST_TEST(same(mapped_mremap(p, 8 * page, 2 * page, MREMAP_MAYMOVE | MREMAP_FIXED, q), q));
    BOOST_TEST(pages_of(tenant_b) == 6);
    BOOST_TEST(pages_of(tenant_a) == 8);
    BOOST_TEST(mapped_munmap(tail, 6 * page) == 0);
    BOOST_TEST(mapped_munmap(q, 8 * page) == 0);
}

BOOST_AUTO_TEST_CASE(a_shrinking_mremap_that_fails_changes_nothing) {
    char *p = map(8);
    errno = 0;
    // Lengths must be equal for it.
    BOOST_TEST(same(mapped_mremap(p, 8 * page, 2 * page, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, nullptr), MAP_FAILED));
    BOOST_TEST(errno == EINVAL);
    BOOST_TEST(pages_of(tenant_a) == 8);
    BOOST_TEST(mapped_munmap(p, 8 * page) == 0);
    BOOST_TEST(pages_of(tenant_a) == 0);
}

BOOST_AUTO_TEST_CASE(mremap_that_keeps_the_old_range_pays_for_both) {
    char *p = map(4);
    void *q = mapped_mremap(p, 4 * page, 4 * page, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, nullptr);
    BOOST_REQUIRE(!same(q, MAP_FAILED));
    BOOST_TEST(pages_of(tenant_a) == 8);
    p[0] = 1;
    BOOST_TEST(mapped_munmap(p, 4 * page) == 0);
    BOOST_TEST(pages_of(tenant_a) == 4);
    BOOST_TEST(mapped_munmap(q, 4 * page) == 0);
}

BOOST_AUTO_TEST_CASE(a_grown_reservation_stays_free) {
    char *p = map(4, PROT_NONE);
    char *q = static_cast<char *>(mapped_mremap(p, 4 * page, 16 * page, MREMAP_MAYMOVE, nullptr));
    BOOST_TEST(pages_of(tenant_a) == 0);
    BOOST_TEST(mapped_mprotect(q + 15 * page, page, read_write) == 0);
    BOOST_TEST(pages_of(tenant_a) == 1);
    BOOST_TEST(mapped_munmap(q, 16 * page) == 0);
}

BOOST_AUTO_TEST_CASE(errors_are_the_kernels_and_success_leaves_errno_alone) {
    const auto error_of = [](auto call) {
        errno = 0;
        call();
        return errno;
    };
    BOOST_TEST(error_of([] { mapped_mmap(nullptr, 0, read_write, anonymous, -1, 0); }) == EINVAL);
    BOOST_TEST(error_of([] { mapped_mmap(nullptr, page, read_write, MAP_ANONYMOUS, -1, 0); }) == EINVAL);
    BOOST_TEST(error_of([] { mapped_mmap(nullptr, SIZE_MAX, read_write, anonymous, -1, 0); }) == ENOMEM);
    BOOST_TEST(error_of([] { mapped_mmap(nullptr, SIZE_MAX / 2, read_write, anonymous, -1, 0); }) == ENOMEM);
    BOOST_TEST(error_of([] { mapped_mmap(nullptr, page, PROT_READ, MAP_PRIVATE, -1, 0); }) == EBADF);
    BOOST_TEST(error_of([] { mapped_munmap(reinterpret_cast<void *>(1), page); }) == EINVAL);
    BOOST_TEST(error_of([] { mapped_munmap(nullptr, 0); }) == EINVAL);
    BOOST_TEST(error_of([] { mapped_mprotect(reinterpret_cast<void *>(page), page, read_write); }) == ENOMEM);
    BOOST_TEST(error_of([] { mapped_mremap(reinterpret_cast<void *>(page), page, page, 0, nullptr); }) == EFAULT);
    errno = 42;
    char *p = map(1);
    BOOST_TEST(mapped_mprotect(p, page, PROT_READ) == 0);
    BOOST_TEST(mapped_munmap(p, page) == 0);
    BOOST_TEST(errno == 42);
}

BOOST_AUTO_TEST_CASE(the_break_is_charged_where_it_grows_and_sbrk_agrees_with_libc) {
    char *start = static_cast<char *>(mapped_sbrk(0));
    BOOST_TEST(same(sbrk(0), start));
    BOOST_TEST(same(mapped_sbrk(static_cast<std::intptr_t>(3 * page)), start));
    const std::int64_t grown = pages_of(tenant_a);
    BOOST_TEST(grown == 3);
    start[2 * page] = 1;
    BOOST_TEST(same(sbrk(0), start + 3 * page)); // libc's own, which keeps a copy of the break
    BOOST_TEST(same(mapped_sbrk(-static_cast<std::intptr_t>(page)), start + 3 * page));
    BOOST_TEST(pages_of(tenant_a) == 2);
    BOOST_TEST(mapped_brk(start) == 0);
    BOOST_TEST(pages_of(tenant_a) == 0);
    limit[tenant_a] = static_cast<std::int64_t>(page);
    errno = 0;
    BOOST_TEST(same(mapped_sbrk(static_cast<std::intptr_t>(2 * page)), reinterpret_cast<void *>(-1)));
    BOOST_TEST(errno == ENOMEM);
    BOOST_TEST(same(sbrk(0), start));
    errno = 0;
    BOOST_TEST(same(mapped_sbrk(INTPTR_MAX), reinterpret_cast<void *>(-1)));
    BOOST_TEST(errno == ENOMEM);
}

BOOST_AUTO_TEST_CASE(memory_that_was_unmapped_behind_our_back_is_given_back_when_its_place_is_used_again) {
    char *p = map(4);
    BOOST_REQUIRE(syscall(SYS_munmap, p, 4 * page) == 0);
    BOOST_TEST(pages_of(tenant_a) == 4);
    BOOST_TEST(same(map(4, read_write, anonymous | MAP_FIXED_NOREPLACE, p), p));
    BOOST_TEST(pages_of(tenant_a) == 4);
    BOOST_TEST(mapped_munmap(p, 4 * page) == 0);
}

BOOST_AUTO_TEST_CASE(nobody_pays_when_nobody_is_to_be_charged) {
    active = 0;
    char *p = map(6);
    char *reserved = map(6, PROT_NONE);
    BOOST_TEST(mapped_mprotect(reserved, 2 * page, read_write) == 0);
    BOOST_TEST(mapping_statistics_get().uncounted_bytes == 8 * page);
    BOOST_TEST(uncounted == static_cast<std::int64_t>(8 * page));
    active = tenant_a;
    BOOST_TEST(mapped_munmap(reserved, 6 * page) == 0);
    BOOST_TEST(mapped_munmap(p, 6 * page) == 0);
    BOOST_TEST(mapping_statistics_get().uncounted_bytes == 0u);
    BOOST_TEST(uncounted == 0);
}

BOOST_AUTO_TEST_CASE(a_forked_child_neither_pays_nor_is_paid_for_what_it_inherited) {
    char *p = map(8);
    char *reserved = map(8, PROT_NONE);
    const pid_t child = fork();
    if (child == 0) {
        charged[tenant_a] = 0; // its own bill starts empty
        bool good = mapped_munmap(p, 4 * page) == 0 && pages_of(tenant_a) == 0;
        good = good && mapped_mprotect(p + 4 * page, 4 * page, read_write) == 0 && pages_of(tenant_a) == 0;
        char *grown = static_cast<char *>(mapped_mremap(p + 4 * page, 4 * page, 6 * page, MREMAP_MAYMOVE, nullptr));
        good = good && pages_of(tenant_a) == 2 && mapped_munmap(grown, 6 * page) == 0 && pages_of(tenant_a) == 0;
        good = good && mapped_mprotect(reserved, 2 * page, read_write) == 0 && pages_of(tenant_a) == 2;
        char *own = map(3);
        good = good && pages_of(tenant_a) == 5 && mapped_munmap(own, 3 * page) == 0 && pages_of(tenant_a) == 2;
        good = good && mapped_munmap(reserved, 8 * page) == 0 && pages_of(tenant_a) == 0 && !went_negative;
        _exit(good ? 0 : 1);
    }
    int status = 0;
    BOOST_REQUIRE(waitpid(child, &status, 0) == child);
    BOOST_TEST(status == 0);
    BOOST_TEST(pages_of(tenant_a) == 8);
    BOOST_TEST(mapped_munmap(p, 8 * page) == 0);
    BOOST_TEST(mapped_munmap(reserved, 8 * page) == 0);
}

// Its payer may end before the child does, which pays for what it has left then: so what it gives up is told.
BOOST_AUTO_TEST_CASE(a_forked_child_tells_of_what_it_has_no_longer) {
    char *p = map(16);
    const pid_t child = fork();
    if (child == 0) {
        charged[tenant_a] = 0;
        const auto told = [](std::int64_t pages) {
            return given_up[tenant_a].exchange(0) == pages * static_cast<std::int64_t>(page);
        };
        bool good = mapped_munmap(p + 2 * page, 2 * page) == 0 && told(2);
        good = good && mapped_mprotect(p, 2 * page, PROT_NONE) == 0 && mapped_mprotect(p, 2 * page, read_write) == 0 &&
               told(0);
        good = good && same(map(2, PROT_NONE, anonymous | MAP_FIXED, p), p) && told(2) && pages_of(tenant_a) == 0;
        good = good && same(map(2, read_write, anonymous | MAP_FIXED, p + 4 * page), p + 4 * page) && told(2) &&
               pages_of(tenant_a) == 2;
        // Over its own and what it has inherited.
        good = good && same(map(4, read_write, anonymous | MAP_FIXED, p + 4 * page), p + 4 * page) && told(2) &&
               pages_of(tenant_a) == 4;
        char *moved = static_cast<char *>(mapped_mremap(p + 8 * page, 8 * page, 10 * page, MREMAP_MAYMOVE, nullptr));
        good = good && told(0) && pages_of(tenant_a) == 6;
        good = good && same(mapped_mremap(moved, 10 * page, 5 * page, 0, nullptr), moved) && told(3) &&
               pages_of(tenant_a) == 4;
        const pid_t grandchild = fork();
        if (grandchild == 0) {
            charged[tenant_a] = 0;
            _exit(mapped_munmap(moved, 5 * page) == 0 && told(5) && mapped_munmap(p + 4 * page, 4 * page) == 0 &&
                          told(4) && pages_of(tenant_a) == 0
                      ? 0
                      : 1);
        }
        int status = 1;
        good = good && waitpid(grandchild, &status, 0) == grandchild && status == 0;
        good = good && mapped_munmap(moved, 5 * page) == 0 && told(5) && pages_of(tenant_a) == 4 && !went_negative;
        _exit(good ? 0 : 1);
    }
    int status = 0;
    BOOST_REQUIRE(waitpid(child, &status, 0) == child);
    BOOST_TEST(status == 0);
    BOOST_TEST(given_up[tenant_a] == 0);
    BOOST_TEST(mapped_munmap(p, 16 * page) == 0);
}

BOOST_AUTO_TEST_CASE(a_vforked_child_shares_the_books_of_its_parent,
                     *boost::unit_test::precondition(vfork_shares_memory)) {
    char *volatile p = map(8);
    const pid_t child = vfork();
    if (child == 0) {
        mapped_munmap(p, 3 * page); // really unmaps it in the parent too
        _exit(0);
    }
    waitpid(child, nullptr, 0);
    BOOST_TEST(pages_of(tenant_a) == 5);
    BOOST_TEST(mapped_munmap(p, 8 * page) == 0);
}

BOOST_AUTO_TEST_CASE(children_forked_while_other_threads_map_can_map) {
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i)
        threads.emplace_back([&] {
            while (!stop) mapped_munmap(map(2), 2 * page);
        });
    int failures = 0;
    for (int i = 0; i < 200; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(5);
            for (int n = 0; n < 20; ++n) mapped_munmap(map(3), 3 * page);
            _exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        failures += status != 0;
    }
    stop = true;
    for (auto &t : threads) t.join();
    BOOST_TEST(failures == 0);
}

namespace {
std::atomic<int> handled;
void map_and_unmap(int) {
    const int saved = errno;
    char *p = map(1);
    p[0] = 1;
    mapped_munmap(p, page);
    ++handled;
    errno = saved;
}
} // namespace

// What a handler maps while its thread maps is booked like anything else.
BOOST_AUTO_TEST_CASE(signal_handlers_may_map_at_any_moment) {
    const std::uint64_t passed = mapping_statistics_get().passed;
    struct sigaction action {};
    action.sa_handler = map_and_unmap;
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &action, nullptr);
    std::atomic<bool> stop{false};
    const pthread_t target = pthread_self();
    std::thread sender([&] {
        while (!stop) {
            pthread_kill(target, SIGUSR1);
            std::this_thread::yield();
        }
    });
    for (int i = 0; i < 20000 || handled < 1000; ++i) mapped_munmap(map(2), 2 * page);
    stop = true;
    sender.join();
    BOOST_TEST(handled > 0);
    BOOST_TEST(mapping_statistics_get().passed == passed);
    signal(SIGUSR1, SIG_DFL);
}

namespace {
std::atomic<bool> is_stopped, may_go;
void stand_still(int) {
    is_stopped = true;
    while (!may_go) sched_yield();
    is_stopped = false;
}
} // namespace

BOOST_AUTO_TEST_CASE(a_thread_that_is_stopped_in_a_handler_keeps_nobody_from_mapping) {
    signal(SIGUSR2, stand_still);
    std::atomic<bool> stop{false};
    std::thread mapper([&] {
        while (!stop) mapped_munmap(map(2), 2 * page);
    });
    alarm(60); // instead of hanging
    for (int i = 0; i < 5000; ++i) {
        may_go = false;
        pthread_kill(mapper.native_handle(), SIGUSR2);
        while (!is_stopped) sched_yield();
        mapped_munmap(map(1), page);
        may_go = true;
        while (is_stopped) sched_yield();
        for (int wait = 0; wait < i * 37 % 2000; ++wait) std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    alarm(0);
    stop = true;
    mapper.join();
    signal(SIGUSR2, SIG_DFL);
}

// Each thread works in its own reservation; the bill must be what the threads say they hold, and nothing in the end.
BOOST_AUTO_TEST_CASE(random_calls_of_several_threads_leave_an_exact_bill) {
    std::atomic<std::int64_t> held{0};
    std::vector<char *> arenas;
    constexpr std::size_t arena_pages = 64;
    for (int i = 0; i < 4; ++i) arenas.push_back(map(arena_pages, PROT_NONE));
    std::vector<std::thread> threads;
    for (unsigned seed = 0; seed < 4; ++seed)
        threads.emplace_back([&, seed] {
            active = seed % 2 ? tenant_a : tenant_b;
            std::mt19937 random(seed);
            std::vector<bool> mine(arena_pages, false);
            char *const base = arenas[seed];
            for (int step = 0; step < 5000; ++step) {
                const std::size_t first = random() % arena_pages;
                const std::size_t count = 1 + random() % (arena_pages - first);
                const auto all = [&](bool value) {
                    for (std::size_t i = first; i < first + count; ++i) {
                        held += static_cast<std::int64_t>(value) - static_cast<std::int64_t>(mine[i]);
                        mine[i] = value;
                    }
                };
                char *const at = base + first * page;
                switch (random() % 4) {
                case 0: mapped_mprotect(at, count * page, read_write), all(true); break;
                case 1: mapped_mprotect(at, count * page, PROT_READ); break;
                case 2: map(count, PROT_NONE, anonymous | MAP_FIXED, at), all(false); break;
                case 3: map(count, read_write, anonymous | MAP_FIXED, at), all(true); break;
                }
            }
        });
    for (auto &t : threads) t.join();
    BOOST_TEST(pages_of(tenant_a) + pages_of(tenant_b) == held);
    for (char *arena : arenas) BOOST_TEST(mapped_munmap(arena, arena_pages * page) == 0);
}

namespace {

// A cache that gives pages back when it is asked to, as a program's shrinker would.
struct cache {
    static inline char *pages[8];
    static inline unsigned held, asked, wrong;

    cache() {
        asked = wrong = 0;
        for (held = 0; held < std::size(pages); ++held) pages[held] = map(1);
        at_refusal = [] {
            ++asked;
            sigset_t blocked;
            pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
            if (sigismember(&blocked, SIGUSR1) != 0) ++wrong;
            if (mapping_statistics_get().charged_bytes != static_cast<std::uint64_t>(charged[active])) ++wrong;
            errno = EPIPE; // whatever user code leaves there
            if (held == 0) return false;
            if (mapped_munmap(pages[--held], page) != 0) ++wrong;
            char *other = map(1, PROT_NONE); // and it may map
            if (mapped_munmap(other, page) != 0) ++wrong;
            return true;
        };
    }
    ~cache() {
        while (held != 0) mapped_munmap(pages[--held], page);
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(what_is_refused_is_tried_again_after_user_code_has_made_room) {
    cache c;
    limit[tenant_a] = static_cast<std::int64_t>(10 * page);
    char *p = map(5); // two pages were free: three are asked for
    BOOST_REQUIRE(!same(p, MAP_FAILED));
    BOOST_TEST(c.asked == 3u);
    BOOST_TEST(pages_of(tenant_a) == 10);
    char *reserved = map(4, PROT_NONE);
    BOOST_TEST(mapped_mprotect(reserved, page, read_write) == 0);
    BOOST_TEST(c.asked == 4u);
    p = static_cast<char *>(mapped_mremap(p, 5 * page, 6 * page, MREMAP_MAYMOVE, nullptr));
    BOOST_REQUIRE(!same(p, MAP_FAILED));
    BOOST_TEST(c.asked == 5u);
    char *over = map(1, read_write, anonymous | MAP_FIXED, reserved + page);
    BOOST_TEST(same(over, reserved + page));
    BOOST_TEST(c.asked == 6u);
    void *end = mapped_sbrk(0);
    BOOST_TEST(same(mapped_sbrk(static_cast<std::intptr_t>(page)), end));
    BOOST_TEST(c.asked == 7u);
    errno = 0;
    BOOST_TEST(same(map(2), MAP_FAILED)); // one is left: not enough
    BOOST_TEST(errno == ENOMEM);
    BOOST_TEST(c.asked == 9u);
    BOOST_TEST(c.held == 0u);
    BOOST_TEST(c.wrong == 0u);
    BOOST_TEST(pages_of(tenant_a) == 9);
    mapped_sbrk(-static_cast<std::intptr_t>(page));
    mapped_munmap(p, 6 * page);
    mapped_munmap(reserved, 4 * page);
}

BOOST_AUTO_TEST_CASE(user_code_may_change_whom_the_thread_works_for) {
    limit[tenant_a] = 0;
    at_refusal = [] {
        active = tenant_b;
        return true;
    };
    char *p = map(3);
    BOOST_TEST(pages_of(tenant_b) == 3);
    BOOST_TEST(mapped_munmap(p, 3 * page) == 0);
}

BOOST_AUTO_TEST_CASE(what_a_charge_left_to_do_is_done_after_the_call) {
    settled = 0;
    charges_here.flags = owes_visit;
    errno = EPIPE;
    char *p = map(3);
    BOOST_TEST(settled == 1);
    BOOST_TEST(errno == EPIPE);
    charges_here.flags = owes_visit;
    BOOST_TEST(mapped_munmap(p, 3 * page) == 0); // charges nothing
    BOOST_TEST(settled == 1);
    charges_here.flags = 0;
}

BOOST_AUTO_TEST_SUITE_END()
