#include "accounting/shared/victims.hpp"

#include "accounting/base/os.hpp"
#include "accounting/base/proc.hpp"
#include "accounting/shared/accounts.hpp"
#include "accounting/shared/members.hpp"

namespace allot::shared {

namespace {

std::uint32_t pid_of(std::uint32_t member) {
    return pid_in(member_at(member).identity.load(std::memory_order_acquire));
}

// Of another pid namespace, its id is somebody else's here.
bool is_of_this_namespace(std::uint32_t member) {
    return member_at(member).pid_namespace.load(std::memory_order_relaxed) == proc_pid_namespace();
}

} // namespace

std::uint64_t charged_below(std::uint32_t member, std::uint32_t node) {
    std::uint64_t sum = 0;
    for_accounts([&](std::uint32_t, const account &a, std::uint32_t of) {
        if (of == member && is_node_below(node_of(a), node)) sum += a.charged.value.load(std::memory_order_relaxed);
    });
    return sum;
}

std::uint32_t largest_below(std::uint32_t node) {
    std::uint32_t largest = 0;
    std::uint64_t most = 0;
    for (std::uint32_t m = next_member(1); m != 0; m = next_member(m + 1)) {
        const std::uint64_t charged = charged_below(m, node);
        if (charged <= most || !is_of_this_namespace(m) || !member_is_alive(m)) continue;
        most = charged;
        largest = m;
    }
    return largest;
}

bool end_member(std::uint32_t member) {
    if (!is_of_this_namespace(member) || !member_is_alive(member)) return false;
    os_kill(pid_of(member));
    return true;
}

void end_all_below(std::uint32_t node) {
    bool this_one = false;
    for (std::uint32_t m = next_member(1); m != 0; m = next_member(m + 1)) {
        if (!is_node_below(member_at(m).node.load(std::memory_order_relaxed), node)) continue;
        if (m == this_member)
            this_one = true;
        else
            (void)end_member(m);
    }
    if (this_one) os_kill(os_pid());
}

bool wait_for_end(std::uint32_t member) {
    constexpr std::uint64_t nap_ns = 1000000, longest_ns = 1000000000;
    const std::uint64_t begin = os_nanoseconds();
    do {
        if (reap(member)) return true;
        os_sleep(nap_ns);
    } while (os_nanoseconds() - begin < longest_ns);
    return false;
}

} // namespace allot::shared
