#include "accounting/oom.hpp"

#include "accounting/accounting.hpp"
#include "accounting/base/os.hpp"
#include "accounting/charge.hpp"
#include "accounting/oom_report.hpp"

#include <cstdlib>

namespace allot {

refusal_policy policy_of(const tenant &level) {
    for (const tenant *t = &level; t != nullptr; t = parent_of(*t)) {
        refusal_policy policy = t->on_refusal.load(std::memory_order_relaxed);
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
        if (t->kills_group.load(std::memory_order_relaxed) != 0) group = t;
    return group;
}

namespace {

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

void refused(refusal_policy policy, tenant &asked, tenant &level, std::uint64_t bytes) {
    switch (policy) {
    case refusal_policy::inherit:
    case refusal_policy::fail: return;
    case refusal_policy::kill: oom_report(asked, level, bytes, "memory.oom.policy is kill"); kill_process(asked, level);
    case refusal_policy::abort: oom_report(asked, level, bytes, "memory.oom.policy is abort"); std::abort();
    }
}

} // namespace allot
