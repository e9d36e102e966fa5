// What one CPU keeps of bytes of charged pages that no object uses yet, for one owner or a few.
//
// It exists because it is what the second experiment changes: whether a stock that has more than a page gives all of it away
// and forgets its owner, or gives whole pages back and stays.
//
// Threads: of its CPU. Owner: the engine's CPU.
// Invariants: a slot without an owner has no bytes. Cost: no shared line while the owner stays.
#pragma once

#include <cstdint>

namespace allot::memcg {

template<typename Owner, std::uint32_t NrSlots>
class byte_stock {
public:
    struct slot {
        Owner *owner = nullptr;
        std::int64_t bytes = 0;
    };

    [[nodiscard]] slot *find(const Owner *owner) {
        for (slot &s : slots_)
            if (s.owner == owner) return &s;
        return nullptr;
    }
    bool consume(const Owner *owner, std::int64_t bytes) {
        slot *s = find(owner);
        if (s == nullptr || s->bytes < bytes) return false;
        s->bytes -= bytes;
        return true;
    }
    // For an owner that has none: an empty slot, else one that the caller empties first.
    [[nodiscard]] slot &slot_to_take() {
        if (slot *empty = find(nullptr); empty != nullptr) return *empty;
        victim_ = (victim_ + 1) % NrSlots;
        return slots_[victim_];
    }
    [[nodiscard]] std::int64_t held_for(const Owner *owner) const {
        std::int64_t sum = 0;
        for (const slot &s : slots_)
            if (s.owner == owner) sum += s.bytes;
        return sum;
    }
    slot *begin() { return slots_; }
    slot *end() { return slots_ + NrSlots; }

private:
    std::uint32_t victim_ = 0;
    slot slots_[NrSlots];
};

} // namespace allot::memcg
