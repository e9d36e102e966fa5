#include "accounting/shared/requests.hpp"

#include "accounting/base/os.hpp"
#include "accounting/shared/file.hpp"
#include "accounting/shared/members.hpp"
#include "accounting/shared/remote.hpp"
#include "accounting/shared/wide.hpp"

#include <cerrno>

namespace allot::shared {

namespace {

// A request's stamp: a number that grows, when it was posted in about seconds, kind, node.
//   number 32 | seconds 14 | kind 3 | node 15
constexpr std::uint32_t kind_shift = 15, seconds_shift = 18;
constexpr std::uint64_t seconds_mask = 0x3fff;
static_assert(nr_nodes <= 1 << kind_shift);

std::uint64_t seconds() { return os_nanoseconds() >> 30; }

// The word of who was killed while it waited: it would have given up by now.
bool is_left(std::uint64_t stamp) { return ((seconds() - (stamp >> seconds_shift)) & seconds_mask) > 2; }

// Whose thread is serving: a forked child's copy of it names its parent, which is not in its way. By exchange, acquire; given
// back with release.
constinit std::atomic<std::uint32_t> serving{0};

bool clear(member &m, std::uint64_t stamp) {
    std::uint64_t now;
    const std::uint64_t bytes = read_both(m.request, now);
    return now == stamp && change_both(m.request, bytes, stamp, 0, 0);
}

} // namespace

int request_post(std::uint32_t index, request_kind kind, std::uint32_t node, std::uint64_t bytes,
                 std::uint64_t &answer) {
    constexpr std::uint64_t patience_ns = 1000000000, moment_ns = 500000;
    member &m = member_at(index);
    if (!member_is_alive(index)) return -ESRCH;
    const std::uint64_t mine = head().births.fetch_add(1, std::memory_order_relaxed) << 32 |
                               (seconds() & seconds_mask) << seconds_shift |
                               static_cast<std::uint64_t>(kind) << kind_shift | node;
    std::uint64_t before;
    const std::uint64_t before_bytes = read_both(m.request, before);
    if ((before != 0 && !is_left(before)) || !change_both(m.request, before_bytes, before, bytes, mine)) return -EBUSY;
    // It looks for requests when it goes to the tree. Without stock, that is at its next allocation.
    (void)drain_others(root_node);
    const std::uint64_t start = os_nanoseconds();
    while (m.request_done.load(std::memory_order_acquire) != mine) {
        if (os_nanoseconds() - start > patience_ns) return clear(m, mine) ? -EAGAIN : -EBUSY;
        if (!member_is_alive(index)) return -ESRCH;
        os_sleep(moment_ns);
    }
    answer = m.request_answer.load(std::memory_order_relaxed);
    return 0;
}

bool request_is_waiting() {
    return this_member != 0 && member_at(this_member).request.stamp.load(std::memory_order_relaxed) != 0;
}

void request_serve(std::uint64_t (*what)(request_kind, std::uint32_t node, std::uint64_t bytes)) {
    if (!request_is_waiting() || serving.exchange(this_tag, std::memory_order_acquire) == this_tag) return;
    member &m = member_at(this_member);
    std::uint64_t stamp;
    const std::uint64_t bytes = read_both(m.request, stamp);
    if (stamp != 0 && m.request_done.load(std::memory_order_relaxed) != stamp) {
        const auto kind = static_cast<std::uint32_t>(stamp >> kind_shift & 7);
        m.request_answer.store(what(request_kind{kind}, static_cast<std::uint32_t>(stamp) % nr_nodes, bytes),
                               std::memory_order_relaxed);
        // release: who sees it done reads the answer. It stands until the next one is served, which is posted after this is
        // cleared; who asked has a moment to read it.
        m.request_done.store(stamp, std::memory_order_release);
        (void)clear(m, stamp);
    }
    serving.store(0, std::memory_order_release);
}

} // namespace allot::shared
