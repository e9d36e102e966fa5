#include "accounting/reclaim.hpp"

#include "accounting/accounting.hpp"
#include "accounting/base/os.hpp"
#include "accounting/drain.hpp"
#include "accounting/memory_files.hpp"
#include "accounting/obj_cgroup.hpp"
#include "accounting/shrinkers.hpp"
#include "accounting/stalls.hpp"
#include "accounting/tenant_extra.hpp"
#include "accounting/text.hpp"
#include "accounting/thread_charges.hpp"
#include "accounting/throttle.hpp"

#include <cerrno>

namespace allot {

namespace {

constexpr std::uint32_t tries_max = 16;

// Written once, by the allocator's start; acquire and release: what it had made before is there.
constinit std::atomic<void (*)()> purge_of_allocator{nullptr};

bool any_shrinkers() { return any_registered(registration_list::shrinkers); }

void drain(allot_tenant *top) {
    signals_blocked quiet;
    lock_scope drain(region().drain_lock.word, lock_rank::drain);
    lock_scope registry(region().registry_lock.word, lock_rank::registry);
    if (tenant *t = tenant_from(top)) drain_subtree_of(*t);
}

// Reclaims are worth their calls only from some size on; the kernel takes 32 pages at least. A small tenant is not
// emptied for that.
std::uint64_t goal_of(const tenant &level, std::uint64_t bytes) {
    constexpr std::uint64_t least = 32 * page_bytes, parts = 64;
    std::uint64_t part = usage(level) / parts;
    if (part > least) part = least;
    return bytes > part ? bytes : part;
}

std::uint64_t goal_of(allot_tenant *level, std::uint64_t bytes) {
    signals_blocked quiet;
    lock_scope registry(region().registry_lock.word, lock_rank::registry);
    const tenant *t = tenant_from(level);
    return t == nullptr ? 0 : goal_of(*t, bytes);
}

// By how much usage is over a limit, without stocks; 0: it is not, or the tenant is gone.
std::uint64_t excess_of(allot_tenant *handle) {
    signals_blocked quiet;
    lock_scope registry(region().registry_lock.word, lock_rank::registry);
    const tenant *t = tenant_from(handle);
    if (t == nullptr) return 0;
    std::uint64_t high = figures_of(*t).high.load(std::memory_order_relaxed);
    std::uint64_t max = figures_of(*t).max.load(std::memory_order_relaxed);
    std::uint64_t limit = high < max ? high : max;
    if (usage(*t) <= limit) return 0;
    std::uint64_t used = current_exact(*t);
    return used > limit ? used - limit : 0;
}

// Shrinks until `wanted()` is 0; what was seen to be given back.
template<class Wanted>
std::uint64_t shrink_until(allot_tenant *top, Wanted wanted) {
    std::uint64_t seen = 0;
    for (std::uint32_t tries = 0; tries < tries_max; ++tries) {
        std::uint64_t bytes = wanted(seen);
        if (bytes == 0) break;
        shrunk s = shrink(top, bytes);
        seen += s.seen;
        if (s.said == 0) break;
    }
    return seen;
}

// A reference of the tenant's handle, for as long as it lives.
class handle_scope {
public:
    explicit handle_scope(allot_tenant *t) : index_(obj_cgroup_get(t)) {}
    ~handle_scope() { obj_cgroup_put(index_); }
    handle_scope(const handle_scope &) = delete;
    handle_scope &operator=(const handle_scope &) = delete;
    std::uint32_t index() const { return index_; }

private:
    std::uint32_t index_;
};

} // namespace

given reclaim_for_refusal(std::uint32_t asked, allot_tenant *level, std::uint64_t bytes) {
    if (!has_shrinkers(level)) return given::nobody_asked;
    stall_scope stall(asked);
    if (shrink(level, goal_of(level, bytes)).said != 0) return given::something;
    return are_shrinkers_at_work(level) ? given::soon : given::nothing;
}

namespace {

// The nearest level from the handle's tenant up, above the one of that depth, that is over high; nullptr: none.
struct over_high {
    allot_tenant *level;
    std::uint32_t depth;
    std::uint64_t excess;
};
bool next_over_high(std::uint32_t obj_cgroup, over_high &at) {
    signals_blocked quiet;
    lock_scope registry(region().registry_lock.word, lock_rank::registry);
    for (tenant *t = tenant_named_by(obj_cgroup); t != nullptr; t = parent_of(*t)) {
        if (t->counter.depth >= at.depth) continue;
        std::uint64_t used = usage(*t), high = figures_of(*t).high.load(std::memory_order_relaxed);
        if (used <= high) continue;
        at = {handle_to(*t), t->counter.depth, used - high};
        return true;
    }
    return false;
}

// Near a limit, each small operation is a charge; shrinkers are asked again after a page of them.
bool is_visit_due(std::uint32_t obj_cgroup) {
    signals_blocked quiet;
    lock_scope registry(region().registry_lock.word, lock_rank::registry);
    tenant *t = tenant_named_by(obj_cgroup);
    if (t == nullptr) return false;
    bool is_first = extra_if_any(*t) == nullptr;
    tenant_extra *extra = extra_of(*t);
    if (is_first || extra == nullptr) return true;
    if (extra->unvisited_bytes.load(std::memory_order_relaxed) < page_bytes) return false;
    extra->unvisited_bytes.store(0, std::memory_order_relaxed);
    return true;
}

} // namespace

void reclaim_for_high(std::uint32_t obj_cgroup) {
    if (any_shrinkers() && is_visit_due(obj_cgroup)) {
        over_high at{nullptr, ~std::uint32_t{0}, 0};
        while (next_over_high(obj_cgroup, at)) {
            if (!has_shrinkers(at.level)) continue;
            stall_scope stall(obj_cgroup);
            (void)shrink(at.level, at.excess);
        }
    }
    throttle(obj_cgroup);
}

std::uint64_t reclaim(allot_tenant *top, std::uint64_t bytes) {
    drain(top);
    if (!any_shrinkers() || !may_call_user_code()) return 0;
    std::uint64_t seen;
    {
        handle_scope of(top);
        stall_scope stall(of.index());
        seen = shrink_until(top, [bytes](std::uint64_t so_far) { return bytes > so_far ? bytes - so_far : 0; });
    }
    drain(top);
    return seen;
}

void reclaim_to_limits(allot_tenant *of) {
    if (!any_shrinkers() || !may_call_user_code() || excess_of(of) == 0) return;
    {
        handle_scope handle(of);
        stall_scope stall(handle.index());
        (void)shrink_until(of, [of](std::uint64_t) { return excess_of(of); });
    }
    drain(of);
}

// --- requests ---------------------------------------------------------------------------------------------------------

namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n'; }

// The next word of the text; false: there is none.
bool next_word(const char *&text, const char *&word, std::size_t &length) {
    while (is_space(*text)) ++text;
    word = text;
    while (*text != '\0' && !is_space(*text)) ++text;
    length = static_cast<std::size_t>(text - word);
    return length != 0;
}

// "swappiness=N" or "swappiness=max", which says nothing to us: there is one kind of memory to take.
bool is_swappiness(const char *word, std::size_t length) {
    constexpr char name[] = "swappiness=";
    constexpr std::size_t name_length = sizeof name - 1;
    constexpr std::uint32_t most = 200;
    if (length <= name_length || !same_text("swappiness=", word, name_length)) return false;
    if (same_text("max", word + name_length, length - name_length)) return true;
    std::uint32_t value = 0;
    for (std::size_t i = name_length; i < length; ++i) {
        if (word[i] < '0' || word[i] > '9') return false;
        value = value * 10 + static_cast<std::uint32_t>(word[i] - '0');
        if (value > most) return false;
    }
    return true;
}

bool parse_request(const tenant &t, const char *text, std::uint64_t &bytes) {
    constexpr std::size_t longest = 63;
    const char *word;
    std::size_t length;
    if (!next_word(text, word, length) || length > longest) return false;
    char size[longest + 1];
    copy_text(word, size, length + 1);
    if (!parse_tenant_size(t, size, bytes) || bytes >= unlimited) return false;
    while (next_word(text, word, length))
        if (!is_swappiness(word, length)) return false;
    return true;
}

} // namespace

int reclaim_request(allot_tenant *of, const char *text) {
    std::uint64_t bytes;
    {
        signals_blocked quiet;
        lock_scope registry(region().registry_lock.word, lock_rank::registry);
        const tenant *t = tenant_from(of);
        if (t == nullptr) return -ESTALE;
        if (!parse_request(*t, text, bytes)) return -EINVAL;
    }
    std::uint64_t given = reclaim(of, bytes);
    // Nobody is charged for what the allocator keeps, but who asks wants the system to have it.
    if (auto *purge = purge_of_allocator.load(std::memory_order_acquire)) purge();
    return given < bytes ? -EAGAIN : 0;
}

void reclaim_set_purge(void (*purge)()) { purge_of_allocator.store(purge, std::memory_order_release); }

} // namespace allot
