#include "preload/mapping_owner.hpp"

#include "accounting/accounting.hpp"
#include "accounting/options.hpp"
#include "accounting/uncounted.hpp"
#include "alloc/alloc.hpp"

namespace allot {

std::uint32_t mapping_owner() {
    const options &settings = options_get();
    if (settings.account != account_scope::all || settings.excluded) return 0;
    // heap_active() makes the allocator, and with it accounting, ready for this process, a forked one included.
    allot_tenant *tenant = heap_active();
    return obj_cgroup_get(tenant != nullptr ? tenant : tenant_root());
}

void mapping_free_inherited(std::uint32_t owner, std::uint64_t bytes) {
    if (owner == 0 || bytes == 0) return;
    (void)heap_active(); // as above
    // Not so in a child that a handler has forked amid a slow path: it leaves its parent's figures alone.
    if (accounting_start()) free_inherited(owner, bytes);
}

void mapping_note_uncounted(std::int64_t bytes) {
    const options &settings = options_get();
    if (bytes == 0 || settings.account == account_scope::all || settings.excluded) return;
    (void)heap_active(); // as above
    note_uncounted(bytes);
}

} // namespace allot
