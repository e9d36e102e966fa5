#include "alloc/emergency.hpp"

#include "alloc/page_source.hpp"

#include <atomic>
#include <cerrno>

namespace allot {

namespace {

// The unit; written once at the start, read by handlers.
constinit std::uint32_t reserve_unit = 0;
// Bytes handed out. relaxed: only the sum must be right, a block is used by nobody else.
constinit std::atomic<std::size_t> handed_out{0};

} // namespace

void emergency_start() {
    unit_run run = units_alloc(1);
    if (run.first == 0) return;
    slab_at(run.first)->kind = unit_kind::reserve;
    reserve_unit = run.first;
}

void *emergency_alloc(std::size_t size, std::size_t alignment) {
    std::size_t header = alignment < granule_bytes ? granule_bytes : alignment; // holds the size, keeps the alignment
    if (reserve_unit != 0 && size <= unit_bytes && alignment <= unit_bytes / 4) {
        std::size_t rounded = (size + granule_bytes - 1) & ~(granule_bytes - 1);
        std::size_t need = header + rounded + alignment;
        std::size_t at = handed_out.fetch_add(need, std::memory_order_relaxed);
        if (at <= unit_bytes && need <= unit_bytes - at) {
            std::uintptr_t block = address_of(slab_at(reserve_unit)) + at + header;
            block = (block + alignment - 1) & ~(alignment - 1);
            reinterpret_cast<std::size_t *>(block)[-1] = rounded;
            return reinterpret_cast<void *>(block);
        }
        handed_out.fetch_sub(need, std::memory_order_relaxed);
    }
    errno = ENOMEM;
    return nullptr;
}

std::size_t emergency_usable_size(const void *p) { return static_cast<const std::size_t *>(p)[-1]; }

} // namespace allot
