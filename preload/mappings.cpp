#include "preload/mappings.hpp"

#include "accounting/base/os.hpp"
#include "preload/mapping_bill.hpp"
#include "preload/mapping_books.hpp"

#include <atomic>
#include <cerrno>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>

extern "C" [[gnu::weak]] void *__curbrk; // libc's own idea of the end of the heap, exported for old start-up files

namespace allot {

namespace {

std::uintptr_t os_page_bytes() {
    static constinit std::atomic<std::uintptr_t> cached{0}; // each thread that finds 0 writes the same value
    std::uintptr_t bytes = cached.load(std::memory_order_relaxed);
    if (bytes == 0) {
        bytes = getauxval(AT_PAGESZ);
        cached.store(bytes, std::memory_order_relaxed);
    }
    return bytes;
}

// False: not something that the kernel would accept; it shall say so itself.
bool make_interval(const void *address, std::size_t length, std::uintptr_t grain, interval &out) {
    out.start = reinterpret_cast<std::uintptr_t>(address);
    const std::size_t rounded = (length + grain - 1) & ~(grain - 1);
    out.end = out.start + rounded;
    return (out.start & (os_page_bytes() - 1)) == 0 && length != 0 && rounded >= length && out.end > out.start;
}

// Lengths of huge page mappings are rounded to their page, of which the flags may name the size.
std::uintptr_t grain_of(int flags) {
    if (!(flags & MAP_HUGETLB)) return os_page_bytes();
    const unsigned log2_size = (static_cast<unsigned>(flags) >> 26) & 63;
    return std::uintptr_t{1} << (log2_size ? log2_size : 21);
}

bool is_error(long result) { return result < 0 && result > -4096; }

void *fail_pointer(int error) {
    errno = error;
    return MAP_FAILED;
}
int fail(int error) {
    errno = error;
    return -1;
}
void *pointer_result(long result) {
    return is_error(result) ? fail_pointer(static_cast<int>(-result)) : reinterpret_cast<void *>(result);
}
int int_result(long result) { return is_error(result) ? fail(static_cast<int>(-result)) : static_cast<int>(result); }

bool is_countable(int flags) {
    // Types beside MAP_PRIVATE are all shared ones. A file's private copy is not counted: only its touched pages are memory.
    return (flags & MAP_ANONYMOUS) && (flags & MAP_TYPE) == MAP_PRIVATE;
}

long raw_mmap(void *address, std::size_t length, int protection, int flags, int fd, off_t offset) {
    return os_call(SYS_mmap, reinterpret_cast<long>(address), static_cast<long>(length), static_cast<long>(protection),
                   static_cast<long>(flags), static_cast<long>(fd), static_cast<long>(offset));
}

bool replaces_what_is_there(int flags) {
    return flags & MAP_FIXED && (flags & MAP_FIXED_NOREPLACE) != MAP_FIXED_NOREPLACE;
}

// One that the books have to do with.
void *map(const interval &where, void *address, std::size_t length, int protection, int flags, int fd, off_t offset,
          mapping_bill &bill) {
    const bool countable = is_countable(flags), replaces = replaces_what_is_there(flags);
    signals_blocked quiet;
    taken_ranges old;
    if (replaces) {
        const take_result result = books_take(where, old);
        if (result == take_result::no_memory) return fail_pointer(ENOMEM);
        if (result == take_result::pass)
            return pointer_result(raw_mmap(address, length, protection, flags, fd, offset));
    }
    const bool writable = protection & PROT_WRITE;
    mapping_payer &owner = bill.owner;
    if (countable && writable) owner.ask();
    const std::uint64_t paid = owner != nobody ? old.bytes_of(owner) : 0;
    const std::uint64_t due = where.bytes() - paid;
    if (!bill.charge(due)) {
        books_put_back(old);
        return fail_pointer(ENOMEM);
    }
    const long result = raw_mmap(address, length, protection, flags, fd, offset);
    if (is_error(result)) {
        mapping_uncharge(owner, due);
        books_put_back(old);
        return pointer_result(result);
    }
    const auto start = static_cast<std::uintptr_t>(result);
    if (countable &&
        !books_enter({start, start + where.bytes()}, owner, writable ? range_state::writable : range_state::reserved))
        mapping_uncharge(owner, where.bytes());
    books_settle(old, owner);
    return pointer_result(result);
}

} // namespace

void *mapped_mmap(void *address, std::size_t length, int protection, int flags, int fd, off_t offset) {
    const bool replaces = replaces_what_is_there(flags);
    interval where;
    if ((!is_countable(flags) && !replaces) ||
        !make_interval(replaces ? address : nullptr, length, grain_of(flags), where))
        return pointer_result(raw_mmap(address, length, protection, flags, fd, offset));
    return settled_call(
        [&](mapping_bill &bill) { return map(where, address, length, protection, flags, fd, offset, bill); });
}

int mapped_munmap(void *address, std::size_t length) {
    const auto unmap = [=] { return os_call(SYS_munmap, reinterpret_cast<long>(address), static_cast<long>(length)); };
    interval where;
    if (!make_interval(address, length, os_page_bytes(), where)) return int_result(unmap());
    signals_blocked quiet;
    taken_ranges old;
    const take_result taken = books_take(where, old);
    if (taken == take_result::no_memory) return fail(ENOMEM);
    const long result = unmap();
    if (is_error(result))
        books_put_back(old);
    else
        books_settle(old);
    return int_result(result);
}

namespace {

int protect(void *address, std::size_t length, int protection, int key, mapping_bill &bill) {
    const auto call = [=] {
        if (key == -1)
            return os_call(SYS_mprotect, reinterpret_cast<long>(address), static_cast<long>(length),
                           static_cast<long>(protection));
        return os_call(SYS_pkey_mprotect, reinterpret_cast<long>(address), static_cast<long>(length),
                       static_cast<long>(protection), static_cast<long>(key));
    };
    interval where;
    // Flags such as PROT_GROWSUP reach beyond what is named; nobody uses them on anonymous memory.
    if (!(protection & PROT_WRITE) || !make_interval(address, length, os_page_bytes(), where))
        return int_result(call());
    signals_blocked quiet;
    taken_ranges taken;
    const take_result result = books_take(where, taken);
    if (result == take_result::no_memory) return fail(ENOMEM);
    if (result == take_result::pass || !taken.ranges) return int_result(call());

    const std::uint64_t due = taken.bytes_of(range_state::reserved);
    mapping_payer &owner = bill.owner;
    if (due) owner.ask();
    if (!bill.charge(due)) {
        books_put_back(taken);
        return fail(ENOMEM);
    }
    const long answer = call();
    if (is_error(answer)) {
        mapping_uncharge(owner, due);
    } else if (due) {
        books_make_writable(taken, owner);
    }
    books_put_back(taken);
    return int_result(answer);
}

} // namespace

int mapped_mprotect(void *address, std::size_t length, int protection) {
    return mapped_pkey_mprotect(address, length, protection, -1); // no key
}

int mapped_pkey_mprotect(void *address, std::size_t length, int protection, int key) {
    return settled_call([=](mapping_bill &bill) { return protect(address, length, protection, key, bill); });
}

namespace {

// One mremap: what it is asked, what it takes out of the books, and how they look afterwards.
struct remapping {
    mapping_payer &owner;
    interval from{};
    interval to{}; // only the length is known before the call, unless it is fixed
    bool fixed = false;
    bool keeps_old = false;
    taken_ranges moving;
    taken_ranges tail; // what a shorter mapping loses; its addresses are anybody's as soon as the kernel has answered
    taken_ranges victim;
    std::uint64_t due = 0;
    bool known = false; // the end that grows is ours to count
    range_state state = range_state::reserved;

    explicit remapping(mapping_payer &payer) : owner(payer) {}

    std::uint64_t growth() const { return to.bytes() > from.bytes() ? to.bytes() - from.bytes() : 0; }

    // Anything else than `taken`: nothing was taken.
    take_result take() {
        if (to.bytes() < from.bytes()) {
            const take_result result = books_take({from.start + to.bytes(), from.end}, tail);
            if (result != take_result::taken) return result;
            from.end = from.start + to.bytes();
        }
        take_result result = books_take(from, moving);
        if (result == take_result::taken && fixed) result = books_take(to, victim);
        if (result != take_result::taken) put_back();
        return result;
    }

    void decide() {
        range_map::for_each(moving.ranges, [&](const range_map::node &n) {
            known = n.end == from.end;
            state = kind_of(n);
        });
        if (known && state == range_state::writable) due = growth();
        if (keeps_old) due += moving.bytes_of(range_state::writable) + moving.bytes_of(range_state::inherited);
        if (due) owner.ask();
    }

    void give_up() {
        mapping_uncharge(owner, due);
        put_back();
    }

    // The kernel has answered with the new address.
    void enter(std::uintptr_t start) {
        books_settle(victim);
        books_settle(tail);
        to = {start, start + to.bytes()};
        if (start != from.start) move();
        books_put_back(moving);
        const interval grown{to.start + from.bytes(), to.end};
        const std::uint32_t payer = state == range_state::writable ? owner : nobody;
        if (growth() && known && !books_enter(grown, payer, state)) mapping_uncharge(payer, grown.bytes());
    }

private:
    // New memory beside an inherited range is this process's own.
    static range_state kind_of(const mapped_range &range) {
        return range.state == range_state::reserved ? range_state::reserved : range_state::writable;
    }
    void put_back() const {
        books_put_back(moving);
        books_put_back(tail);
        books_put_back(victim);
    }
    void move() {
        const auto distance = static_cast<std::intptr_t>(to.start - from.start);
        if (keeps_old)
            range_map::for_each(moving.ranges, [&](const range_map::node &n) {
                const std::uint32_t payer = kind_of(n) == range_state::writable ? owner : nobody;
                if (!books_enter({n.start, n.end}, payer, kind_of(n))) mapping_uncharge(payer, n.end - n.start);
            });
        range_map::shift(moving.ranges, distance);
        moving.where = {moving.where.start + static_cast<std::uintptr_t>(distance),
                        moving.where.end + static_cast<std::uintptr_t>(distance)};
    }
};

void *remap(void *old_address, std::size_t old_length, std::size_t new_length, int flags, void *new_address,
            mapping_bill &bill) {
    const auto call = [=] {
        return os_call(SYS_mremap, reinterpret_cast<long>(old_address), static_cast<long>(old_length),
                       static_cast<long>(new_length), static_cast<long>(flags), reinterpret_cast<long>(new_address));
    };
    remapping change(bill.owner);
    change.fixed = flags & MREMAP_FIXED;
    change.keeps_old = flags & MREMAP_DONTUNMAP;
    if (!make_interval(old_address, old_length, os_page_bytes(), change.from) ||
        !make_interval(change.fixed ? new_address : nullptr, new_length, os_page_bytes(), change.to) ||
        (change.fixed && change.from.overlaps(change.to)))
        return pointer_result(call());

    signals_blocked quiet;
    const take_result result = change.take();
    if (result == take_result::no_memory) return fail_pointer(ENOMEM);
    if (result == take_result::pass) return pointer_result(call());
    change.decide();
    if (!bill.charge(change.due)) {
        change.due = 0;
        change.give_up();
        return fail_pointer(ENOMEM);
    }
    const long answer = call();
    if (is_error(answer))
        change.give_up();
    else
        change.enter(static_cast<std::uintptr_t>(answer));
    return pointer_result(answer);
}

} // namespace

void *mapped_mremap(void *old_address, std::size_t old_length, std::size_t new_length, int flags, void *new_address) {
    return settled_call(
        [=](mapping_bill &bill) { return remap(old_address, old_length, new_length, flags, new_address, bill); });
}

namespace {

std::uintptr_t raw_brk(std::uintptr_t end) {
    return static_cast<std::uintptr_t>(os_call(SYS_brk, static_cast<long>(end)));
}

std::uintptr_t page_ceil(std::uintptr_t address) { return (address + os_page_bytes() - 1) & ~(os_page_bytes() - 1); }

// libc's sbrk, which its own malloc calls without us, goes by this word.
void tell_libc(std::uintptr_t end) {
    if (&__curbrk) __curbrk = reinterpret_cast<void *>(end);
}

// Returns the break afterwards, which is `end` unless it was refused.
std::uintptr_t move_break(std::uintptr_t current, std::uintptr_t end, mapping_bill &bill) {
    const interval grown{page_ceil(current), page_ceil(end)};
    const interval shrunk{page_ceil(end), page_ceil(current)};
    if (grown.start < grown.end) {
        mapping_payer &owner = bill.owner;
        owner.ask();
        if (!bill.charge(grown.bytes())) return current;
        const std::uintptr_t now = raw_brk(end);
        if (now != end || !books_enter(grown, owner, range_state::writable)) mapping_uncharge(owner, grown.bytes());
        return now;
    }
    taken_ranges old;
    if (shrunk.start < shrunk.end && books_take(shrunk, old) == take_result::no_memory) return current;
    const std::uintptr_t now = raw_brk(end);
    if (now != end)
        books_put_back(old);
    else
        books_settle(old);
    return now;
}

int set_break(std::uintptr_t wanted, mapping_bill &bill) {
    signals_blocked quiet;
    std::uintptr_t now = raw_brk(0);
    if (wanted > now || (wanted != 0 && wanted < now)) now = move_break(now, wanted, bill);
    tell_libc(now);
    return now < wanted ? fail(ENOMEM) : 0;
}

} // namespace

int mapped_brk(void *end) {
    return settled_call([=](mapping_bill &bill) { return set_break(reinterpret_cast<std::uintptr_t>(end), bill); });
}

void *mapped_sbrk(std::intptr_t increment) {
    return settled_call([=](mapping_bill &bill) -> void * {
        const std::uintptr_t current = raw_brk(0);
        tell_libc(current);
        if (increment == 0) return reinterpret_cast<void *>(current);
        const std::uintptr_t wanted = current + static_cast<std::uintptr_t>(increment);
        const bool wraps = increment > 0 ? wanted < current : wanted > current;
        if (wraps) return fail_pointer(ENOMEM);
        return set_break(wanted, bill) == 0 ? reinterpret_cast<void *>(current) : fail_pointer(ENOMEM);
    });
}

} // namespace allot
