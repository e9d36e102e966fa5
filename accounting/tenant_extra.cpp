#include "accounting/tenant_extra.hpp"

#include <cstring>

namespace allot {

tenant_extra *extra_of(tenant &t) {
    if (tenant_extra *there = extra_if_any(t)) return there;
    std::uint32_t index = record_new<tenant_extra>();
    if (index == 0) return nullptr;
    auto &extra = record_at<tenant_extra>(index);
    std::memset(static_cast<void *>(&extra), 0, sizeof extra);
    extra.tenant = t.index;
    t.extra.store(index, std::memory_order_release);
    return &extra;
}

void extra_free(tenant &t) {
    std::uint32_t index = t.extra.exchange(0, std::memory_order_relaxed);
    if (index == 0) return;
    record_at<tenant_extra>(index).tenant = 0;
    record_put<tenant_extra>(index);
}

} // namespace allot
