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

void mapping_note_uncounted(std::int64_t bytes) {
    const options &settings = options_get();
    if (bytes == 0 || settings.account == account_scope::all || settings.excluded) return;
    (void)heap_active(); // as above
    note_uncounted(bytes);
}

} // namespace allot
