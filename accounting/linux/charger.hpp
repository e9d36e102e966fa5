// What an allocator asks of whoever charges its objects: two calls, behind one pointer.
//
// It exists apart from any_engine.hpp so that an allocator's sources, which may use nothing of the standard library that
// needs code at run time, can be compiled with it.
//
// Threads: as any_engine.hpp. Owner: whoever made it. Invariants: an uncharge has the size, node and kind of its charge.
// Cost: an indirect call, always to the same function.
#pragma once

#include "accounting/linux/vmstat_cache.hpp"

#include <cstdint>

namespace allot::memcg {

struct cpu;
struct owner;

class charger {
public:
    virtual ~charger() = default;
    // False: refused, and nothing has changed but peaks.
    [[nodiscard]] virtual bool charge(cpu &c, owner &o, std::int64_t size, std::uint32_t node = 0,
                                      slab_kind kind = slab_kind::unreclaimable) = 0;
    virtual void uncharge(cpu &c, owner &o, std::int64_t size, std::uint32_t node = 0,
                          slab_kind kind = slab_kind::unreclaimable) = 0;
};

} // namespace allot::memcg
