#include "accounting/throttle.hpp"

#include "accounting/base/os.hpp"
#include "accounting/base/ratio.hpp"
#include "accounting/obj_cgroup.hpp"
#include "accounting/stalls.hpp"
#include "accounting/tenant_extra.hpp"

namespace allot {

namespace {

constexpr std::uint32_t overage_shift = 20;
// Beyond 16 times high the delay has long reached its bound, for a page as for a batch.
constexpr std::uint64_t overage_max = std::uint64_t{16} << overage_shift;
// Of the square of the overage, 1 being 2^40: 64 seconds for twice the limit.
constexpr std::uint32_t square_shift = 34;

} // namespace

std::uint64_t overage_of(std::uint64_t usage, std::uint64_t high) {
    if (usage <= high) return 0;
    std::uint64_t over = ratio_floor(usage - high, std::uint64_t{1} << overage_shift, high == 0 ? 1 : high);
    return over < overage_max ? over : overage_max;
}

std::uint64_t throttle_ms_of(std::uint64_t overage, std::uint64_t bytes) {
    std::uint64_t a_batch = overage * overage * 1000 >> square_shift;
    std::uint64_t ms = ratio_floor(a_batch, bytes, charge_batch_bytes);
    return ms < throttle_ms_max ? ms : throttle_ms_max;
}

bool is_throttled(const tenant &t) {
    for (const tenant *at = &t; at != nullptr; at = parent_of(*at)) {
        auto says = throttle_setting{figures_of(*at).throttle.load(std::memory_order_relaxed)};
        if (says != throttle_setting::inherit) return says == throttle_setting::on;
    }
    return false;
}

void throttle_owe(const tenant &t, std::uint64_t bytes) {
    tenant_extra *extra = extra_if_any(t);
    if (extra == nullptr) return;
    extra->delay_owed_bytes.fetch_add(bytes, std::memory_order_relaxed);
    extra->unvisited_bytes.fetch_add(bytes, std::memory_order_relaxed);
}

namespace {

// Read without a lock, so that who is over high and not delayed pays a walk: tenants may change meanwhile, but their records
// stay, and a setting that is seen a moment late is.
bool asks_anyone(std::uint32_t obj_cgroup) {
    for (const tenant *t = tenant_named_by(obj_cgroup); t != nullptr; t = parent_of(*t))
        if (throttle_setting{figures_of(*t).throttle.load(std::memory_order_relaxed)} == throttle_setting::on)
            return true;
    return false;
}

// The largest overage of the levels that ask for delays.
std::uint64_t overage_from(const tenant &t) {
    std::uint64_t most = 0;
    for (const tenant *at = &t; at != nullptr; at = parent_of(*at)) {
        std::uint64_t over = overage_of(usage(*at), figures_of(*at).high.load(std::memory_order_relaxed));
        if (over > most && is_throttled(*at)) most = over;
    }
    return most;
}

// What is due now, with this thread shown as delayed; 0: nothing.
std::uint64_t begin_delay(std::uint32_t obj_cgroup) {
    signals_blocked quiet;
    lock_scope registry(region().registry_lock.word, lock_rank::registry);
    tenant *t = tenant_named_by(obj_cgroup);
    tenant_extra *extra = t == nullptr ? nullptr : extra_of(*t);
    if (extra == nullptr) return 0;
    std::uint64_t bytes = extra->delay_owed_bytes.exchange(0, std::memory_order_relaxed);
    std::uint64_t overage = overage_from(*t);
    if (overage == 0) return 0;
    std::uint64_t ms = throttle_ms_of(overage, bytes);
    if (ms < throttle_ms_least) {
        extra->delay_owed_bytes.fetch_add(bytes, std::memory_order_relaxed);
        return 0;
    }
    extra->nr_delayed.fetch_add(1, std::memory_order_relaxed);
    return ms;
}

// To the tenant that stands for it now: if the one that began is gone, so are its figures, or its parent has them.
void end_delay(std::uint32_t obj_cgroup, std::uint64_t nanoseconds) {
    signals_blocked quiet;
    lock_scope registry(region().registry_lock.word, lock_rank::registry);
    tenant *t = tenant_named_by(obj_cgroup);
    tenant_extra *extra = t == nullptr ? nullptr : extra_of(*t);
    if (extra == nullptr) return;
    extra->delayed_us.fetch_add(nanoseconds / 1000, std::memory_order_relaxed);
    if (extra->nr_delayed.load(std::memory_order_relaxed) != 0)
        extra->nr_delayed.fetch_sub(1, std::memory_order_relaxed);
}

} // namespace

void throttle(std::uint32_t obj_cgroup) {
    std::uint64_t ms = asks_anyone(obj_cgroup) ? begin_delay(obj_cgroup) : 0;
    if (ms == 0) return;
    std::uint64_t begin = os_nanoseconds();
    {
        stall_scope stall(obj_cgroup);
        os_sleep(ms * 1'000'000);
    }
    end_delay(obj_cgroup, os_nanoseconds() - begin);
}

} // namespace allot
