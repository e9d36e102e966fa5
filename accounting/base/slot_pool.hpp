// Records of one kind in memory of this process's own, by index, without malloc.
//
// It exists for what must not lie in the region because it holds pointers: registrations of the program's code.
//
// Threads: make and put under a lock of the caller's; at() without, for a record that is known to be there.
// Owner: the process, until it ends; a forked child has a copy.
// Invariants: 1. Index 0 names nothing. A record's address does not change.
//             2. Indices are reused in the order they were freed, and not before `resting` others are free too. A new record
//                is zero, a reused one as it was freed.
// Cost: a chunk is mapped when it is reached; a page of it takes memory when it is touched.
#pragma once

#include "accounting/base/os.hpp"

#include <cstdint>

namespace allot {

// T has `std::uint32_t free_next`, which the pool uses while the record is free.
template<class T, std::uint32_t capacity, std::uint32_t resting = 0>
class slot_pool {
public:
    // An index, or 0: full, or no memory.
    [[nodiscard]] std::uint32_t make() {
        std::uint32_t index = nr_free_ > resting ? 0 : take_fresh();
        return index != 0 ? index : take_freed();
    }
    void put(std::uint32_t index) {
        at(index).free_next = 0;
        if (last_free_ != 0)
            at(last_free_).free_next = index;
        else
            first_free_ = index;
        last_free_ = index;
        ++nr_free_;
    }
    // Forgets what is free; whoever calls it frees all that is not used, again.
    void forget_free() { first_free_ = last_free_ = nr_free_ = 0; }

    [[nodiscard]] T &at(std::uint32_t index) {
        return reinterpret_cast<T *>(chunks_[index / per_chunk])[index % per_chunk];
    }
    // Indices below it have been used.
    [[nodiscard]] std::uint32_t count() const { return count_; }

private:
    std::uint32_t take_freed() {
        std::uint32_t index = first_free_;
        if (index == 0) return 0;
        first_free_ = at(index).free_next;
        if (first_free_ == 0) last_free_ = 0;
        --nr_free_;
        return index;
    }
    std::uint32_t take_fresh() {
        std::uint32_t index = count_ == 0 ? 1 : count_;
        if (index >= capacity) return 0;
        std::uintptr_t &chunk = chunks_[index / per_chunk];
        if (chunk == 0) chunk = os_map(chunk_bytes);
        if (chunk == 0) return 0;
        count_ = index + 1;
        return index;
    }

    static constexpr std::size_t chunk_bytes = 256 * 1024;
    static constexpr std::uint32_t per_chunk = chunk_bytes / sizeof(T);

    std::uintptr_t chunks_[capacity / per_chunk + 1] = {};
    std::uint32_t count_ = 0;
    std::uint32_t first_free_ = 0, last_free_ = 0, nr_free_ = 0;
};

} // namespace allot
