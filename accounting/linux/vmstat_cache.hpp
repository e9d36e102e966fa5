// Updates of one owner's statistics that a CPU collects before it passes them on.
//
// It exists as the kernel's way to make two writes to cold lines out of many; its rules decide how many updates get
// through, which is what the third experiment counts.
//
// Threads: of its CPU. Owner: the engine's CPU. Invariants: a part that was passed on is 0.
// Cost: an addition and a comparison an update.
#pragma once

#include "accounting/linux/engine_config.hpp"

#include <cstdint>
#include <cstdlib>

namespace allot::memcg {

// Which of the two figures of slabs an object belongs to.
enum class slab_kind : std::uint8_t { reclaimable, unreclaimable };
inline constexpr std::uint32_t nr_slab_kinds = 2;

class vmstat_cache {
public:
    // True: what is cached belongs to another node, and has to be passed on first (take()).
    [[nodiscard]] bool is_of_another_node(std::uint32_t node) const { return node_ != node && !is_empty(); }

    // The bytes to pass on now, 0 for none. The first update after none is kept whatever its size.
    [[nodiscard]] std::int64_t update(std::uint32_t node, slab_kind kind, std::int64_t bytes) {
        node_ = node;
        std::int64_t &part = bytes_[static_cast<std::uint32_t>(kind)];
        if (part == 0) {
            part = bytes;
            return 0;
        }
        part += bytes;
        if (std::llabs(part) <= page_bytes) return 0;
        std::int64_t all = part;
        part = 0;
        return all;
    }

    // Passes on what there is: visit(node, kind, bytes) for each part that is not 0.
    template<typename Visit>
    void take(Visit visit) {
        for (std::uint32_t k = 0; k < nr_slab_kinds; ++k) {
            if (bytes_[k] == 0) continue;
            visit(node_, static_cast<slab_kind>(k), bytes_[k]);
            bytes_[k] = 0;
        }
    }
    [[nodiscard]] bool is_empty() const { return bytes_[0] == 0 && bytes_[1] == 0; }

private:
    std::uint32_t node_ = 0;
    std::int64_t bytes_[nr_slab_kinds] = {};
};

} // namespace allot::memcg
