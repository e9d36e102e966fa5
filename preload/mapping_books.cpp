#include "preload/mapping_books.hpp"

#include "accounting/accounting.hpp"
#include "accounting/base/fork_mark.hpp"
#include "accounting/base/os.hpp"
#include "preload/handler_safe_lock.hpp"
#include "preload/mapping_owner.hpp"

#include <atomic>

namespace allot {

namespace {

struct mapping_books {
    fork_mark mark;
    handler_safe_lock lock;
    range_map ranges{
        {[](std::uint32_t owner) { obj_cgroup_grab(owner); }, [](std::uint32_t owner) { obj_cgroup_put(owner); }}};
    // Written by whoever passes, read for statistics; relaxed, since nobody decides on it.
    std::atomic<std::uint64_t> passed{0};
};
constinit mapping_books books;

// Nodes that an operation may need: a cut two, what follows it one, and one is left so that putting back cannot fail.
constexpr std::size_t nodes_for_any = 4;

void repair_after_fork() {
    if (books.lock.held()) // another thread of the parent was in the middle of a change
        books.ranges.forget_all();
    else
        books.ranges.disown_all();
    books.lock.reset();
}

// The right to read and change the books. No handler runs meanwhile: it could stop the thread, for somebody who then maps
// memory. False in the handler of a fault amid a change, for that cannot be blocked.
class opened_books {
public:
    opened_books() {
        const fork_answer answer = books.mark.ask();
        if (answer == fork_answer::new_process) {
            if (books.lock.held_by_me()) // forked by a handler in the middle of this thread's own change
                books.mark.not_repaired();
            else
                repair_after_fork(), books.mark.repaired();
        }
        open_ = answer != fork_answer::ask_later && books.lock.enter();
        if (!open_) books.passed.fetch_add(1, std::memory_order_relaxed);
    }
    ~opened_books() {
        if (open_) books.lock.leave();
    }
    opened_books(const opened_books &) = delete;
    opened_books &operator=(const opened_books &) = delete;
    explicit operator bool() const { return open_; }

private:
    signals_blocked quiet_; // first made, last gone
    bool open_;
};

void uncharge_all(range_map::node *ranges, std::uint32_t kept_owner) {
    std::int64_t uncounted = 0;
    range_map::for_each(ranges, [&](const range_map::node &n) {
        if (n.owner == nobody && n.state == range_state::writable)
            uncounted += static_cast<std::int64_t>(n.end - n.start);
        if (n.state == range_state::inherited)
            mapping_free_inherited(n.owner, n.end - n.start);
        else if (n.owner != kept_owner)
            mapping_uncharge(n.owner, n.end - n.start);
    });
    mapping_note_uncounted(-uncounted);
}

// With the books open: what they hold there was unmapped behind their back.
void evict(const interval &where) {
    range_map::node *stale = books.ranges.cut(where.start, where.end);
    uncharge_all(stale, nobody);
    books.ranges.drop(stale);
}

} // namespace

void mapping_uncharge(std::uint32_t owner, std::uint64_t bytes) {
    if (owner != nobody && bytes != 0) uncharge_bytes(owner, bytes, charge_kind::external);
}

std::uint64_t taken_ranges::bytes_of(std::uint32_t owner) const {
    std::uint64_t sum = 0;
    range_map::for_each(ranges, [&](const range_map::node &n) {
        if (n.owner == owner && n.state != range_state::inherited) sum += n.end - n.start;
    });
    return sum;
}
std::uint64_t taken_ranges::bytes_of(range_state state) const {
    std::uint64_t sum = 0;
    range_map::for_each(ranges, [&](const range_map::node &n) { sum += n.state == state ? n.end - n.start : 0; });
    return sum;
}

take_result books_take(const interval &where, taken_ranges &out) {
    opened_books open;
    if (!open) return take_result::pass;
    if (!books.ranges.reserve(nodes_for_any)) return take_result::no_memory;
    out = {where, books.ranges.cut(where.start, where.end)};
    return take_result::taken;
}

void books_put_back(const taken_ranges &taken) {
    if (!taken.ranges) return;
    opened_books open;
    if (!open || !books.ranges.reserve(2)) return; // neither can be: taking them succeeded, and left two nodes
    evict(taken.where);
    books.ranges.paste(taken.ranges, taken.where.start, taken.where.end);
    books.ranges.tidy(taken.where.start, taken.where.end);
}

void books_settle(taken_ranges &taken, std::uint32_t kept_owner) {
    if (!taken.ranges) return;
    uncharge_all(taken.ranges, kept_owner);
    opened_books open;
    if (open) books.ranges.drop(taken.ranges);
    taken.ranges = nullptr;
}

void books_make_writable(const taken_ranges &taken, std::uint32_t owner) {
    if (owner == nobody) mapping_note_uncounted(static_cast<std::int64_t>(taken.bytes_of(range_state::reserved)));
    opened_books open; // owners' references are counted with the books open
    range_map::for_each(taken.ranges, [&](range_map::node &n) {
        if (n.state == range_state::reserved) books.ranges.assign(n, owner, range_state::writable);
    });
}

bool books_enter(const interval &where, std::uint32_t owner, range_state state) {
    opened_books open;
    if (!open || !books.ranges.reserve(nodes_for_any)) return false;
    evict(where);
    books.ranges.insert({where.start, where.end, owner, state});
    if (owner == nobody && state == range_state::writable)
        mapping_note_uncounted(static_cast<std::int64_t>(where.bytes()));
    return true;
}

mapping_statistics mapping_statistics_get() {
    mapping_statistics sum{0, 0, books.passed.load(std::memory_order_relaxed)};
    opened_books open;
    if (!open) return sum;
    books.ranges.for_each([&](const range_map::node &n) {
        if (n.state == range_state::writable)
            (n.owner == nobody ? sum.uncounted_bytes : sum.charged_bytes) += n.end - n.start;
    });
    return sum;
}

} // namespace allot
