// The allocator's hooks over the kernel's engine: the slab allocator that the kernel's charge path is measured under.
//
// It exists so that before and after, and allot's own accounting, differ in nothing but who charges: alloc/ is compiled once
// more, bound to this, and an operation reaches the engine of the chosen variant by one indirect call, which goes to the
// same function for the whole run. What that call costs is shown by the variant linux_none, which makes it and counts nothing.
//
// The owner is remembered as the allocator remembers it: in the header of a slab that one owner has alone, in a vector where
// slabs are shared. A thread is a CPU of the engine: it takes one with its first operation and gives it back, drained, when
// its home is left. Sizes are the slots', to which the engine adds the kernel's eight bytes for the owner.
//
// Threads: as object_hooks. Not for signal handlers, nor for forked children: benchmarks have neither.
// Owner: engines, their groups and owners live until the process ends; so references to owners are the engine's alone.
// Invariants: no more threads allocate at a time than the engine has CPUs: one more ends the program.
// Cost: a thread-local load, an indirect call, and the engine's.
#pragma once

#include "accounting/linux/charger.hpp"
#include "alloc/object_hooks.hpp"

#include <cstddef>
#include <cstdint>

namespace allot {

// Where this thread counts; nullptr: it has no CPU yet, or none any more. Written by this thread alone.
extern constinit thread_local memcg::cpu *linux_cpu_here;
// Whom operations go to. Written before the first of them.
extern constinit memcg::charger *linux_charger;

struct linux_hooks {
    static constexpr bool accounted = true;
    static constexpr bool keeps_requests() { return false; }

    struct slab_part {
        memcg::owner *owner;
        std::uint32_t bytes;
    };
    struct heap_part {
        memcg::owner *owner;
        std::uint32_t index;
    };

    static bool start(recount_source) { return linux_charger != nullptr; }
    static void child_start() {}
    static void heap_open(heap_part &heap, std::uint32_t owner) { heap = {owner_at(owner), owner}; }
    static void heap_close(heap_part &heap) { heap = {}; }
    static void heap_park(heap_part &); // its thread's CPU goes off-line
    static void heap_fold(heap_part &) {}
    static slab_part make_slab_part(const heap_part &heap, std::size_t bytes) {
        return {heap.owner, static_cast<std::uint32_t>(bytes)};
    }

    // False also where the thread has no CPU yet: the slow paths take one.
    [[gnu::always_inline]] static bool charge(const slab_part &slab) {
        memcg::cpu *here = linux_cpu_here;
        return here != nullptr && linux_charger->charge(*here, *slab.owner, slab.bytes);
    }
    [[gnu::always_inline]] static bool uncharge(const slab_part &slab) {
        memcg::cpu *here = linux_cpu_here;
        if (here == nullptr) [[unlikely]]
            return false;
        linux_charger->uncharge(*here, *slab.owner, slab.bytes);
        return true;
    }
    static bool charge_slow(const slab_part &slab) { return charge_bytes(slab.owner, slab.bytes); }
    static void uncharge_slow(const slab_part &slab) { uncharge_bytes(slab.owner, slab.bytes); }
    static bool charge_object(const heap_part &heap, std::size_t bytes) { return charge_bytes(heap.owner, bytes); }
    static void uncharge_object(const heap_part &heap, std::size_t bytes) { uncharge_bytes(heap.owner, bytes); }
    static void free_inherited(std::uint32_t, std::size_t) {}
    static void uncharge_owners(std::uint32_t owner, std::size_t bytes) { uncharge_bytes(owner_at(owner), bytes); }
    // The engine has no quick way of saying so.
    static bool charge_if_covered(const heap_part &, std::size_t, std::int32_t) { return false; }
    // As krealloc: a new object, and then not the old one.
    static bool charge_growth(const heap_part &heap, std::size_t from, std::size_t to) {
        if (!charge_bytes(heap.owner, to)) return false;
        uncharge_bytes(heap.owner, from);
        return true;
    }
    static void uncharge_shrinkage(const heap_part &heap, std::size_t from, std::size_t to) {
        uncharge_bytes(heap.owner, from);
        (void)charge_bytes(heap.owner, to); // less than what has just been given back, by this CPU
    }

    // A tenant is a group of the engine, an owner's index its number.
    static std::uint32_t owner_of(const heap_part &heap) { return heap.index; }
    static allot_tenant *root_tenant();
    static allot_tenant *default_tenant();
    static std::uint32_t owner_get(allot_tenant *);
    static std::uint32_t owner_now(allot_tenant *tenant) { return owner_get(tenant); }
    static bool heap_serves(const heap_part &, allot_tenant *) { return false; }
    static std::uint64_t tenants_ended() { return 0; }
    static std::uint64_t tenants_ended_if_not_moot() { return 0; }
    static void tenants_ended_is_moot() {}
    static void tenants_ended_counts() {}
    static allot_tenant *heap_tenant(const heap_part &heap) { return tenant_of_owner(heap.index); }
    static allot_tenant *tenant_of_owner(std::uint32_t);
    static void owner_path(std::uint32_t, char *path, std::size_t) { *path = '\0'; }
    static void owner_grab(std::uint32_t) {}
    static void owner_put(std::uint32_t) {}

    // A refusal is final: nobody is asked for memory.
    struct unsettled {};
    static constexpr bool settle_is_due() { return false; }
    static void take_refusal(const heap_part &, unsettled &) {}
    static bool settle(const unsettled &) { return false; }
    static void settle_charge(std::uint32_t) {}
    static bool transfer(std::uint32_t from, std::uint32_t to, std::size_t bytes, unsettled &) {
        if (!charge_bytes(owner_at(to), bytes)) return false;
        uncharge_bytes(owner_at(from), bytes);
        return true;
    }
    struct insistence_scope {
        explicit insistence_scope(insistence) {}
    };

private:
    static memcg::owner *owner_at(std::uint32_t index);
    static bool charge_bytes(memcg::owner *, std::size_t bytes);
    static void uncharge_bytes(memcg::owner *, std::size_t bytes);
};
static_assert(object_hooks<linux_hooks>);

} // namespace allot
