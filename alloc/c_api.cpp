#include "alloc/active.hpp"
#include "alloc/active_scope.hpp"
#include "alloc/alloc.hpp"
#include "alloc/fast_path.hpp"
#include "alloc/gfp.hpp"
#include "alloc/reset.hpp"
#include "alloc/transfer.hpp"

#include <allot/alloc.h>

#include <bit>
#include <cerrno>
#include <cstring>

using namespace allot;

// What each does, and its errors, is in <allot/alloc.h>.

namespace {

void *invalid() {
    errno = EINVAL;
    return nullptr;
}

} // namespace

extern "C" {

allot_tenant *allot_set_active(allot_tenant *tenant) { return heap_set_active(tenant); }

void *allot_malloc(size_t size) { return fast_malloc(size); }
void *allot_calloc(size_t count, size_t size) { return heap_calloc(count, size); }
void *allot_realloc(void *block, size_t size) { return heap_realloc(block, size); }
void *allot_aligned_alloc(size_t alignment, size_t size) {
    if (!std::has_single_bit(alignment)) return invalid();
    return heap_aligned_alloc(alignment, size);
}
void allot_free(void *block) { fast_free(block); }
size_t allot_usable_size(const void *block) { return heap_usable_size(block); }

void *allot_malloc_in(allot_tenant *tenant, size_t size) {
    if (void *p = heap_malloc_in_known(tenant, size)) return p;
    if (!is_of_now(tenant)) {
        errno = ESTALE;
        return nullptr;
    }
    active_scope scope(tenant);
    return fast_malloc(size);
}

allot_tenant *allot_owner_of(const void *block) { return heap_owner_of(block); }
int allot_transfer(void *block, allot_tenant *to) { return heap_transfer(block, to); }

int allot_tenant_reset(allot_tenant *tenant) { return heap_reset(tenant); }

void allot_unaccounted_begin(void) { heap_unaccounted_begin(); }
void allot_unaccounted_end(void) { heap_unaccounted_end(); }

void *allot_kmalloc(size_t size, allot_gfp flags) {
    if (flags == ALLOT_KERNEL) [[likely]]
        return fast_malloc(size);
    if (!is_gfp(flags)) return invalid();
    gfp_scope scope(flags);
    return (flags & ALLOT_ZERO) != 0 ? heap_calloc(1, size) : heap_malloc(size);
}

void *allot_kzalloc(size_t size, allot_gfp flags) { return allot_kcalloc(1, size, flags); }

void *allot_kcalloc(size_t count, size_t size, allot_gfp flags) {
    if (!is_gfp(flags)) return invalid();
    gfp_scope scope(flags);
    return heap_calloc(count, size);
}

void *allot_krealloc(void *block, size_t size, allot_gfp flags) {
    if (block == nullptr) return allot_kmalloc(size, flags);
    if (!is_gfp(flags)) return invalid();
    gfp_scope scope(flags);
    return heap_realloc(block, size);
}

void allot_kfree(const void *block) { fast_free(const_cast<void *>(block)); }
size_t allot_ksize(const void *block) { return heap_usable_size(block); }

} // extern "C"
