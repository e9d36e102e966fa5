#include "accounting/oom.hpp"

#include "accounting/accounting.hpp"
#include "accounting/base/os.hpp"
#include "accounting/base/report.hpp"
#include "accounting/charge.hpp"
#include "accounting/oom_report.hpp"
#include "accounting/shared/lease.hpp"
#include "accounting/shared/members.hpp"
#include "accounting/shared/victims.hpp"

#include <cstdlib>

namespace allot {

refusal_policy policy_of(const tenant &level) {
    for (const tenant *t = &level; t != nullptr; t = parent_of(*t)) {
        refusal_policy policy = figures_of(*t).on_refusal.load(std::memory_order_relaxed);
        if (policy != refusal_policy::inherit) return policy;
    }
    return refusal_policy::fail;
}

tenant &victim_of(tenant &asked, const tenant &level) {
    tenant *own = tenant_from(tenant_default());
    return own != nullptr && is_at_or_below(*own, level) ? *own : asked;
}

tenant *group_of(tenant &victim, const tenant &level) {
    tenant *group = nullptr;
    for (tenant *t = &victim; t != nullptr && t->counter.depth >= level.counter.depth; t = parent_of(*t))
        if (figures_of(*t).kills_group.load(std::memory_order_relaxed) != 0) group = t;
    return group;
}

namespace {

// The tenant of this process's copy of the tree that stands for a node at or below the level; else the level.
tenant &tenant_of_node(std::uint32_t node, tenant &level) {
    for (tenant *t = &level; t != nullptr; t = next_in_subtree(*t, level))
        if (t->counter.node == node) return *t;
    return level;
}

// Where processes share the tree. True: another one has been ended, and what it held is free.
bool kill_largest(tenant &asked, tenant &level, std::uint64_t bytes) {
    const std::uint32_t victim = shared::largest_below(level.counter.node);
    if (victim == 0) return false;
    const shared::member &who = shared::member_at(victim);
    std::uint32_t group = 0;
    {
        signals_blocked quiet;
        lock_scope registry(region().registry_lock.word, lock_rank::registry);
        tenant &its = tenant_of_node(who.node.load(std::memory_order_relaxed), level);
        count_event(its, allot_event_oom_kill);
        if (tenant *all = group_of(its, level)) {
            count_event(*all, allot_event_oom_group_kill);
            group = all->counter.node;
        }
    }
    line_writer says;
    says.text("memory.oom.policy is kill: ").text(group != 0 ? "all processes of the group of " : "").text("process ");
    says.number(shared::pid_in(who.identity.load(std::memory_order_acquire)))
        .text(" (")
        .name(who.name)
        .text("), which is charged ");
    says.number(shared::charged_below(victim, level.counter.node)).text(group != 0 ? ", are killed" : ", is killed");
    oom_report(asked, level, bytes, says.c_str());
    if (group != 0) shared::end_all_below(group);
    if (victim == shared::this_member) os_kill(os_pid());
    return shared::end_member(victim) && shared::wait_for_end(victim);
}

// Counted first: whoever looks at the books of a dead program finds why it died.
[[noreturn]] void kill_process(tenant &asked, const tenant &level) {
    {
        signals_blocked quiet;
        lock_scope registry(region().registry_lock.word, lock_rank::registry);
        tenant &victim = victim_of(asked, level);
        count_event(victim, allot_event_oom_kill);
        if (tenant *group = group_of(victim, level)) count_event(*group, allot_event_oom_group_kill);
    }
    os_kill(os_pid());
    for (;;) std::abort(); // the first process of a namespace is spared by signals of its own
}

} // namespace

bool refused(refusal_policy policy, tenant &asked, tenant &level, std::uint64_t bytes) {
    switch (policy) {
    case refusal_policy::inherit:
    case refusal_policy::fail: return false;
    case refusal_policy::kill:
        if (is_shared(level) && shared::may_look_at_others() && kill_largest(asked, level, bytes)) return true;
        oom_report(asked, level, bytes, "memory.oom.policy is kill");
        kill_process(asked, level);
    case refusal_policy::abort: oom_report(asked, level, bytes, "memory.oom.policy is abort"); std::abort();
    }
    return false;
}

} // namespace allot
