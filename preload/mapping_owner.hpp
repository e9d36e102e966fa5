// Who pays for a mapping made now, and what is said of those for which nobody does: the seam between the mapping functions and the rest of allot.
//
// Threads: any. Cost: a few loads, and two locked instructions for the reference.
#pragma once

#include "accounting/accounting.hpp"

#include <cstdint>

namespace allot {

// obj_cgroup of the calling thread's active tenant, with a reference that the caller puts; 0: nobody is charged (option
// `account` is `heap`, or nothing is counted in this process).
[[nodiscard]] std::uint32_t mapping_owner();

// Whom a mapping is charged to while it is made: the tenant may be destroyed meanwhile, its handle stays. Nobody until it
// is asked for.
class mapping_payer {
public:
    mapping_payer() = default;
    ~mapping_payer() { forget(); }
    mapping_payer(const mapping_payer &) = delete;
    mapping_payer &operator=(const mapping_payer &) = delete;

    void ask() { owner_ = mapping_owner(); } // of nobody
    void forget() {
        if (owner_ != 0) obj_cgroup_put(owner_);
        owner_ = 0;
    }
    operator std::uint32_t() const { return owner_; }

private:
    std::uint32_t owner_ = 0;
};

// So many bytes that this process had by a fork, charged to its parent, are not mapped here any more.
void mapping_free_inherited(std::uint32_t owner, std::uint64_t bytes);

// So many bytes more, or less, are writable and charged to nobody. Reported where `account` is `heap`.
void mapping_note_uncounted(std::int64_t bytes);

} // namespace allot
