#include "accounting/stalls.hpp"

#include "accounting/base/os.hpp"
#include "accounting/obj_cgroup.hpp"
#include "accounting/tenant_extra.hpp"

namespace allot {

namespace {

// A level for whose record there is no memory counts nothing.
template<class Change>
void at_each_level_of(std::uint32_t obj_cgroup, Change change) {
    signals_blocked quiet;
    lock_scope registry(region().registry_lock.word, lock_rank::registry);
    std::uint64_t now_us = os_nanoseconds() / 1000;
    for (tenant *t = tenant_named_by(obj_cgroup); t != nullptr; t = parent_of(*t))
        if (tenant_extra *extra = extra_of(*t))
            change(extra->stalls, now_us, figures_of(*t).nr_contexts.load(std::memory_order_relaxed));
}

} // namespace

stall_scope::stall_scope(std::uint32_t obj_cgroup) : obj_cgroup_(obj_cgroup) {
    at_each_level_of(obj_cgroup_, [](pressure &p, std::uint64_t now_us, std::uint32_t nr_threads) {
        pressure_begin(p, now_us, nr_threads);
    });
}

stall_scope::~stall_scope() {
    at_each_level_of(obj_cgroup_, [](pressure &p, std::uint64_t now_us, std::uint32_t nr_threads) {
        pressure_end(p, now_us, nr_threads);
    });
}

void stall_past(std::uint32_t obj_cgroup, std::uint64_t nanoseconds) {
    if (nanoseconds < stall_ns_least) return;
    at_each_level_of(obj_cgroup, [nanoseconds](pressure &p, std::uint64_t now_us, std::uint32_t nr_threads) {
        pressure_past(p, now_us, nanoseconds / 1000, nr_threads);
    });
}

} // namespace allot
