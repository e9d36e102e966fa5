#include "alloc/emergency.hpp"

#include "alloc/page_source.hpp"

#include <atomic>
#include <cerrno>
#include <cstdint>

namespace allot {

namespace {

// The unit; written once at the start, read by handlers.
constinit std::uint32_t reserve_unit = 0;
// Bytes handed out in the lower half, live blocks in the upper: with the last block, all of it is there again. Release when
// one is given back, acquire when one is taken: the next user of the bytes comes after the last.
constinit std::atomic<std::uint64_t> handed_out{0};
constexpr std::uint64_t one_block = std::uint64_t{1} << 32;

// Where `need` bytes begin, or unit_bytes.
std::size_t take(std::size_t need) {
    std::uint64_t seen = handed_out.load(std::memory_order_relaxed);
    do
        if (need > unit_bytes - static_cast<std::uint32_t>(seen)) return unit_bytes;
    while (!handed_out.compare_exchange_weak(seen, seen + one_block + need, std::memory_order_acquire,
                                             std::memory_order_relaxed));
    return static_cast<std::uint32_t>(seen);
}

} // namespace

void emergency_start() {
    unit_run run = units_alloc(1);
    if (run.first == 0) return;
    set_kind(slab_at(run.first), unit_kind::reserve);
    reserve_unit = run.first;
}

void *emergency_alloc(std::size_t size, std::size_t alignment) {
    std::size_t header = alignment < granule_bytes ? granule_bytes : alignment; // holds the size, keeps the alignment
    if (reserve_unit != 0 && size <= unit_bytes && alignment <= unit_bytes / 4) {
        std::size_t rounded = (size + granule_bytes - 1) & ~(granule_bytes - 1);
        std::size_t need = header + rounded + alignment;
        if (std::size_t at = take(need); at != unit_bytes) {
            std::uintptr_t block = address_of(slab_at(reserve_unit)) + at + header;
            block = (block + alignment - 1) & ~(alignment - 1);
            reinterpret_cast<std::size_t *>(block)[-1] = rounded;
            return reinterpret_cast<void *>(block);
        }
    }
    errno = ENOMEM;
    return nullptr;
}

void emergency_free() {
    std::uint64_t seen = handed_out.load(std::memory_order_relaxed), left;
    do {
        if (seen < one_block) return; // more frees than blocks: misuse that cannot be told from use here
        left = seen - one_block < one_block ? 0 : seen - one_block;
    } while (!handed_out.compare_exchange_weak(seen, left, std::memory_order_release, std::memory_order_relaxed));
}

std::size_t emergency_usable_size(const void *p) { return static_cast<const std::size_t *>(p)[-1]; }

} // namespace allot
