#include "accounting/settle.hpp"

#include "accounting/accounting.hpp"
#include "accounting/base/os.hpp"
#include "accounting/context_table.hpp"
#include "accounting/drain.hpp"
#include "accounting/listeners.hpp"
#include "accounting/obj_cgroup.hpp"
#include "accounting/oom.hpp"
#include "accounting/reclaim.hpp"
#include "accounting/shared/requests.hpp"
#include "accounting/tenant.hpp"

namespace allot {

namespace {

void clear(std::uint8_t flags) { charges_here.flags = static_cast<std::uint8_t>(charges_here.flags & ~flags); }

// The level as it is now: by its depth above the tenant that was refused. If that belongs to an ancestor by now, a
// destroyed level is stood for by it.
tenant &level_of(tenant &asked, std::uint32_t depth) {
    tenant *t = &asked;
    while (t->counter.depth > depth) t = parent_of(*t);
    return *t;
}

// Tenants stay in place while the registry lock is held.
class registry_locked {
public:
    registry_locked() : registry_(region().registry_lock.word, lock_rank::registry) {}

private:
    signals_blocked quiet_;
    lock_scope registry_;
};

allot_tenant *handle_of_level(const refusal &r) {
    registry_locked stay;
    tenant *asked = tenant_named_by(r.asked);
    return asked == nullptr ? nullptr : handle_to(level_of(*asked, r.level_depth));
}

// For another thread's shrinker. Longer each time, since that thread may not be running: 0.1 s in all.
void wait_a_moment(std::uint8_t tries) {
    constexpr std::uint64_t shortest = 50000, longest = 10000000; // nanoseconds
    std::uint64_t time = shortest << tries;
    os_sleep(time < longest ? time : longest);
}

bool reclaim_helps(refusal &r) {
    if (r.tries == shrinker_tries_max || !any_registered(registration_list::shrinkers)) return false;
    ++r.tries;
    allot_tenant *level = handle_of_level(r);
    given g = level == nullptr ? given::nobody_asked : reclaim_for_refusal(r.asked, level, r.bytes);
    if (g == given::soon) wait_a_moment(r.tries);
    // What it was not given, another thread may have been since the charge was refused: that is tried once more.
    if (g == given::nothing) r.tries = shrinker_tries_max;
    return g != given::nobody_asked;
}

// Whether a plan of failures counts the charge. Without a lock: the caller has a reference, so the handle names a tenant.
bool is_counted(const refusal &r) {
    const tenant *asked = tenant_named_by(r.asked);
    return asked != nullptr && asked->counts_charges.load(std::memory_order_relaxed) != 0;
}

// Counted, headroom armed, told, and then what the level's policy says: that is found out while the level stays in place,
// since another policy of whoever has its record next would end a process for nothing.
// True: another process was ended for it, so that it may fit now.
bool refuse_for_good(const refusal &r) {
    tenant *asked;
    tenant *level;
    allot_tenant *told;
    refusal_policy policy;
    {
        registry_locked stay;
        asked = tenant_named_by(r.asked);
        if (asked == nullptr) return false;
        level = &level_of(*asked, r.level_depth);
        told = handle_to(*asked);
        count_event(*level, allot_event_oom);
        charges_here.armed = level->obj_cgroup.load(std::memory_order_relaxed);
        policy = policy_of(*level);
    }
    deliver_events(told);
    // Who asked for a quick answer gets that, and what shrinkers and callbacks are refused no shrinker was asked for.
    bool may_stop_us = charges_here.mode == charge_mode::ordinary && (charges_here.flags & in_user_code) == 0;
    return may_stop_us && !holds_locks() && refused(policy, *asked, *level, r.bytes);
}

} // namespace

void refusal_take(context &c, refusal &into) {
    into.kind = refusal_kind::none;
    if (c.obj_cgroup == 0) return; // nothing is counted, and nothing behind it
    refusal &left = cold_of(c).refused;
    std::uint8_t tries = into.tries;
    into = left;
    into.tries = tries;
    left = {};
}

bool settle_refusal(refusal &r) {
    clear(owes_refusal);
    if (r.kind != refusal_kind::limit || r.asked == 0) return false;
    bool again = may_call_user_code() && reclaim_helps(r);
    if (!again && charges_here.mode == charge_mode::nofail) {
        charges_here.mode = charge_mode::forced;
        again = true;
    }
    if (again) {
        if (is_counted(r)) charges_here.flags |= is_repeated;
        return true;
    }
    return refuse_for_good(r);
}

namespace {

// The tenant of this process that a node stands for; nullptr: it has none.
allot_tenant *tenant_at(std::uint32_t node) {
    registry_locked stay;
    for (tenant *t = &root_tenant(); t != nullptr; t = next_in_subtree(*t, root_tenant()))
        if (t->counter.node == node) return handle_to(*t);
    return nullptr;
}

// Threads are amid something while others recount: a difference is one if it is always there.
std::uint64_t least_differences() {
    constexpr int recounts = 10;
    constexpr std::uint64_t between_ns = 1000000;
    std::uint64_t least = ~std::uint64_t{0};
    for (int i = 0; i < recounts && least != 0; ++i) {
        const std::uint64_t differences = verify().differences;
        if (differences < least) least = differences;
        if (least != 0) os_sleep(between_ns);
    }
    return least;
}

// What another process has asked this one for.
std::uint64_t serve(shared::request_kind what, std::uint32_t node, std::uint64_t bytes) {
    if (what == shared::request_kind::verify) return least_differences();
    allot_tenant *at = tenant_at(node);
    return at == nullptr ? 0 : reclaim(at, bytes);
}

} // namespace

void settle_charge(std::uint32_t obj_cgroup) {
    if (holds_locks()) return; // it stays due
    if (may_call_user_code()) {
        clear(owes_refusal | owes_visit);
        reclaim_for_high(obj_cgroup);
        if (shared::is_attached() && shared::request_is_waiting()) shared::request_serve(serve);
    } // else that stays due
    if (!any_registered(registration_list::listeners)) return;
    allot_tenant *told;
    {
        registry_locked stay;
        tenant *asked = tenant_named_by(obj_cgroup);
        if (asked == nullptr) return;
        told = handle_to(*asked);
    }
    deliver_events(told);
}

} // namespace allot
