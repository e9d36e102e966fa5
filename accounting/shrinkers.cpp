#include "accounting/shrinkers.hpp"

#include "accounting/base/os.hpp"
#include "accounting/base/ratio.hpp"
#include "accounting/listeners.hpp"
#include "accounting/tenant_extra.hpp"
#include "accounting/thread_charges.hpp"

#include <cerrno>

namespace allot {

int shrinker_add(allot_tenant *tenant, allot_shrinker_count count, allot_shrinker_scan scan, void *argument) {
    if (count == nullptr || scan == nullptr) return -EINVAL;
    signals_blocked quiet;
    lock_scope registry(region().registry_lock.word, lock_rank::registry);
    allot::tenant *t = tenant_from(tenant);
    if (t == nullptr) return -ESTALE;
    registration *r = registration_new();
    if (r == nullptr) return -ENOMEM;
    r->count = count;
    r->scan = scan;
    r->argument = argument;
    return registration_begin(*r, *t, registration_kind::shrinker);
}

namespace {

// Passes of one reclaim. Each asks for twice as much as the one before, so that the last ones ask for everything.
constexpr std::uint32_t passes_max = 32;

enum class spare : std::uint32_t { min_and_low, min };

// --- one shrinker after the other -------------------------------------------------------------------------------------

// Stands on one shrinker of a subtree at a time, which cannot go away meanwhile.
class walk {
public:
    explicit walk(allot_tenant *top) : top_(top) {}
    ~walk() {
        if (!stands_) return;
        signals_blocked quiet;
        lock_scope registry(region().registry_lock.word, lock_rank::registry);
        call_end(call_);
    }
    walk(const walk &) = delete;
    walk &operator=(const walk &) = delete;

    // Goes to the next one that `wants` says yes to, under the lock; false: there is none, or the subtree is gone.
    template<class Wants>
    bool next(Wants wants) {
        signals_blocked quiet;
        lock_scope registry(region().registry_lock.word, lock_rank::registry);
        const tenant *top = tenant_from(top_);
        registration *r = nullptr;
        if (top != nullptr) r = stands_ ? next_shrinker_in(*call_.pinned, *top) : first_shrinker_in(*top);
        if (stands_) call_end(call_);
        stands_ = false;
        for (; r != nullptr && !stands_; r = stands_ ? r : next_shrinker_in(*r, *top)) {
            tenant *owner = tenant_from(r->tenant);
            if (owner == nullptr || !wants(*r, *owner, *top)) continue;
            call_begin(call_, *r);
            stands_ = true;
        }
        return stands_;
    }
    registration &operator*() const { return *call_.pinned; }
    registration *operator->() const { return call_.pinned; }

private:
    allot_tenant *top_;
    registration_call call_{};
    bool stands_ = false;
};

// --- one pass ---------------------------------------------------------------------------------------------------------

void count_all(allot_tenant *top) {
    walk at(top);
    while (at.next([](const registration &, const tenant &, const tenant &) { return true; })) {
        user_code_scope user_code;
        at->counted.store(at->count(at->argument), std::memory_order_relaxed);
    }
}

// What a reclaim aimed at top may take from it.
std::uint64_t share_of(const registration &r, const tenant &owner, const tenant &top, spare spared) {
    protection has = protection_in(owner, top);
    std::uint64_t protected_bytes = spared == spare::min || has.min > has.low ? has.min : has.low;
    return unprotected_part(r.counted.load(std::memory_order_relaxed), usage(owner), protected_bytes);
}

// Raises what each owes by its share of the bytes, or of more if nobody would owe anything then. False: there is nothing to be had.
bool share_out(allot_tenant *handle, std::uint64_t bytes, spare spared) {
    signals_blocked quiet;
    lock_scope registry(region().registry_lock.word, lock_rank::registry);
    const tenant *top = tenant_from(handle);
    if (top == nullptr) return false;
    auto for_each = [top](auto visit) {
        for (registration *r = first_shrinker_in(*top); r != nullptr; r = next_shrinker_in(*r, *top))
            if (const tenant *owner = tenant_from(r->tenant)) visit(*r, *owner);
    };
    std::uint64_t all = 0;
    for_each([&](const registration &r, const tenant &owner) { all += share_of(r, owner, *top, spared); });
    if (all == 0) return false;
    std::uint64_t least = ~std::uint64_t{0}; // to be shared out so that someone owes
    for_each([&](registration &r, const tenant &owner) {
        std::uint64_t share = share_of(r, owner, *top, spared);
        auto most = static_cast<std::int64_t>(share);
        // What was given in advance is not held against anyone for ever.
        r.owed = r.owed > most ? most : r.owed < -most / 2 ? -most / 2 : r.owed;
        if (share == 0) return;
        std::uint64_t raise = r.owed > 0 ? 0 : ratio_floor(static_cast<std::uint64_t>(1 - r.owed), all, share) + 1;
        if (raise < least) least = raise;
    });
    if (bytes < least) bytes = least;
    for_each([&](registration &r, const tenant &owner) {
        std::uint64_t share = share_of(r, owner, *top, spared);
        auto most = static_cast<std::int64_t>(share);
        std::uint64_t part = ratio_floor(bytes, share, all);
        r.owed += part < share ? static_cast<std::int64_t>(part) : most;
        if (r.owed > most) r.owed = most;
    });
    return true;
}

struct scan_plan {
    std::uint64_t bytes, current_before;
    bool takes_protected;
};

// What a tenant uses, for comparison; `unmeasured` where finding out would hold up others for long.
constexpr std::uint64_t unmeasured = ~std::uint64_t{0};
std::uint64_t measured(const tenant &t) {
    constexpr std::uint32_t contexts_max = 256;
    bool is_quick = figures_of(t).nr_contexts.load(std::memory_order_relaxed) <= contexts_max;
    return is_quick ? current_exact(t) : unmeasured;
}

// The books of a scan that is over.
void settle_scan(registration &r, const scan_plan &plan, std::uint64_t said, shrunk &so_far) {
    signals_blocked quiet;
    lock_scope registry(region().registry_lock.word, lock_rank::registry);
    std::uint64_t counted = r.counted.load(std::memory_order_relaxed);
    // One that cannot free anything, whatever it counts, is not asked again in this reclaim.
    r.counted.store(said != 0 && said < counted ? counted - said : 0, std::memory_order_relaxed);
    r.owed -= static_cast<std::int64_t>(said < unlimited ? said : unlimited);
    so_far.said += said;
    tenant *owner = tenant_from(r.tenant);
    if (owner == nullptr) return;
    std::uint64_t now = measured(*owner), seen = said;
    if (now != unmeasured && plan.current_before != unmeasured) {
        std::uint64_t fell = now < plan.current_before ? plan.current_before - now : 0;
        if (fell < said) seen = fell;
    }
    so_far.seen += seen;
    if (tenant_extra *extra = extra_of(*owner)) extra->reclaimed.fetch_add(seen, std::memory_order_relaxed);
    if (!plan.takes_protected || said == 0) return;
    count_event(*owner, allot_event_low);
    r.has_news = true;
}

// Asks those that owe something, until there are enough bytes.
void scan_debtors(allot_tenant *top, std::uint64_t bytes, spare spared, shrunk &so_far) {
    walk at(top);
    scan_plan plan{};
    auto owes = [&](const registration &r, const tenant &owner, const tenant &aimed_at) {
        if (r.owed <= 0) return false;
        plan = {static_cast<std::uint64_t>(r.owed), measured(owner),
                spared == spare::min && usage(owner) <= protection_in(owner, aimed_at).low};
        return true;
    };
    while (so_far.said < bytes && at.next(owes)) {
        std::uint64_t said;
        {
            user_code_scope user_code;
            said = at->scan(at->argument, plan.bytes);
        }
        settle_scan(*at, plan, said, so_far);
    }
}

// Until there are enough bytes, or nothing more to be had.
void shrink_sparing(spare spared, allot_tenant *top, std::uint64_t bytes, shrunk &so_far) {
    count_all(top);
    std::uint64_t goal = bytes;
    for (std::uint32_t pass = 1; pass <= passes_max && so_far.said < bytes; ++pass) {
        if (!share_out(top, goal, spared)) return;
        scan_debtors(top, bytes, spared, so_far);
        goal = goal < unlimited / 2 ? goal * 2 : unlimited;
    }
}

// Events are told when no shrinker is pinned any more: a callback may wait for who ends one.
void tell_of_low(allot_tenant *top_handle) {
    for (;;) {
        allot_tenant *whose = nullptr;
        {
            signals_blocked quiet;
            lock_scope registry(region().registry_lock.word, lock_rank::registry);
            const tenant *top = tenant_from(top_handle);
            registration *r = top == nullptr ? nullptr : first_shrinker_in(*top);
            while (r != nullptr && !r->has_news) r = next_shrinker_in(*r, *top);
            if (r == nullptr) return;
            r->has_news = false;
            whose = r->tenant;
        }
        deliver_events(whose);
    }
}

} // namespace

bool has_shrinkers(allot_tenant *top) {
    if (!any_registered(registration_list::shrinkers)) return false;
    signals_blocked quiet;
    lock_scope registry(region().registry_lock.word, lock_rank::registry);
    const tenant *t = tenant_from(top);
    return t != nullptr && first_shrinker_in(*t) != nullptr;
}

bool are_shrinkers_at_work(allot_tenant *top) {
    signals_blocked quiet;
    lock_scope registry(region().registry_lock.word, lock_rank::registry);
    const tenant *t = tenant_from(top);
    if (t == nullptr) return false;
    for (const registration *r = first_shrinker_in(*t); r != nullptr; r = next_shrinker_in(*r, *t))
        if (r->pins != 0) return true;
    return false;
}

shrunk shrink(allot_tenant *top, std::uint64_t bytes) {
    shrunk so_far;
    if (bytes == 0 || !any_registered(registration_list::shrinkers) || !may_call_user_code()) return so_far;
    shrink_sparing(spare::min_and_low, top, bytes, so_far);
    if (so_far.said != 0) return so_far;
    shrink_sparing(spare::min, top, bytes, so_far);
    tell_of_low(top);
    return so_far;
}

} // namespace allot
