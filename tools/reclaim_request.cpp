#include "tools/reclaim_request.hpp"

#include "accounting/base/os.hpp"
#include "accounting/shared/accounts.hpp"
#include "accounting/shared/file.hpp"
#include "accounting/shared/members.hpp"
#include "accounting/shared/requests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

namespace allot {

std::vector<charged_member> members_below(std::uint32_t node) {
    std::map<std::uint32_t, std::uint64_t> charged;
    shared::for_accounts([&](std::uint32_t, const shared::account &a, std::uint32_t member) {
        if (shared::is_node_below(shared::node_of(a), node))
            charged[member] += a.charged.value.load(std::memory_order_relaxed);
    });
    // Those that belong there and have not been charged for anything yet come last.
    for (std::uint32_t m = shared::next_member(1); m != 0; m = shared::next_member(m + 1))
        if (shared::is_node_below(shared::member_at(m).node.load(std::memory_order_relaxed), node)) charged[m] += 0;
    std::vector<charged_member> members;
    for (const auto &[member, bytes] : charged)
        if (member != 0 && shared::member_is_alive(member)) members.push_back({member, bytes});
    std::stable_sort(members.begin(), members.end(), [](const auto &a, const auto &b) { return a.bytes > b.bytes; });
    return members;
}

std::string name_of_member(std::uint32_t member) {
    const shared::member &m = shared::member_at(member);
    return fmt::format("{} ({})", std::string(m.name, strnlen(m.name, shared::member_name_bytes)),
                       shared::pid_in(m.identity.load(std::memory_order_relaxed)));
}

std::string request_problem(int error) {
    switch (error) {
    case -EAGAIN: return "it did not answer within a second";
    case -EBUSY: return "it is busy with another request";
    case -ESRCH: return "it is gone";
    default: return strerror(-error);
    }
}

reclaim_outcome reclaim_below(std::uint32_t node, std::uint64_t bytes, std::uint64_t patience_ns) {
    reclaim_outcome outcome;
    const std::uint64_t start = os_nanoseconds();
    for (const charged_member &m : members_below(node)) {
        if (outcome.got >= bytes || os_nanoseconds() - start > patience_ns) break;
        ++outcome.asked;
        std::uint64_t answer = 0;
        const int error =
            shared::request_post(m.member, shared::request_kind::reclaim, node, bytes - outcome.got, answer);
        if (error == 0)
            outcome.got += answer;
        else if (error != -ESRCH)
            outcome.not_served.push_back(fmt::format("{}: {}", name_of_member(m.member), request_problem(error)));
    }
    return outcome;
}

} // namespace allot
