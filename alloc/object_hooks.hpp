// object_hooks: all that the allocator knows of accounting. The hooks in force are bound in binding.hpp.
//
// With null_hooks this is a complete unaccounted allocator, the baseline of every benchmark: its empty parts cost no
// byte in a header and no instruction on a path.
#pragma once

#include "alloc/recount.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>

struct allot_tenant;

namespace allot {

// How much a charge insists.
enum class insistence : std::uint8_t {
    ordinary,
    nowait, // neither user code nor delays; fails
    atomic, // as nowait, and goes over the limit at once
    nofail, // goes over the limit when nothing else helps
};

// slab_part: what a slab header carries, for objects that all belong to one owner. heap_part: what a (thread, tenant)
// heap carries. An owner is a 32-bit index that slabs, vectors and large blocks name; 0 names nobody.
template<typename H>
concept object_hooks = requires(typename H::slab_part &slab, typename H::heap_part &heap, std::size_t bytes,
                                std::uint32_t owner, allot_tenant *tenant, char *path, recount_source source,
                                typename H::unsettled &left) {
    { H::accounted } -> std::convertible_to<bool>;
    { H::keeps_requests() } -> std::same_as<bool>; // what is asked for each block is to be remembered; see requests.hpp
    { H::start(source) } -> std::same_as<bool>;    // once a process, before anything else
    {H::child_start()};                            // in the child of a fork, before anything else
    {H::heap_open(heap, owner)};                   // binds a heap to an owner for this thread
    {H::heap_close(heap)};                         // the heap goes away; no slab names its part any more
    {H::heap_park(heap)};                          // the thread ends, slabs live on and wait for another thread
    {H::heap_fold(heap)};                          // at refills: bounds what the packed word can reach
    { H::make_slab_part(heap, bytes) } -> std::same_as<typename H::slab_part>;
    { H::charge(slab) } -> std::same_as<bool>; // fast; false: charge_slow decides
    { H::charge_slow(slab) } -> std::same_as<bool>;
    { H::uncharge(slab) } -> std::same_as<bool>; // fast; false: uncharge_slow must follow
    {H::uncharge_slow(slab)};
    { H::charge_object(heap, bytes) } -> std::same_as<bool>; // any size, both steps
    {H::uncharge_object(heap, bytes)};
    // Less than direct_charge_bytes, if that needs no slow path: true. Else nothing has happened. 0 objects: one grows.
    { H::charge_if_covered(heap, bytes, 1) } -> std::same_as<bool>;
    {H::free_inherited(owner, bytes)};  // of a block that this process has by a fork: somebody else's charge
    {H::uncharge_owners(owner, bytes)}; // as uncharge_object, where no heap of the owner can be had
    { H::charge_growth(heap, bytes, bytes) } -> std::same_as<bool>; // of one object, from a size to a larger one
    {H::uncharge_shrinkage(heap, bytes, bytes)};                    // from a size to a smaller one
    { H::owner_of(heap) } -> std::same_as<std::uint32_t>;
    { H::root_tenant() } -> std::same_as<allot_tenant *>;
    { H::default_tenant() } -> std::same_as<allot_tenant *>; // of the process
    { H::owner_get(tenant) } -> std::same_as<std::uint32_t>; // its owner, with a reference for the caller
    { H::owner_now(tenant) } -> std::same_as<std::uint32_t>; // without: at this moment
    {
        H::heap_serves(heap, tenant)
        } -> std::same_as<bool>; // it was opened for the tenant, who lives; false: perhaps not
    { H::tenants_ended() } -> std::same_as<std::uint64_t>; // while it stays the same, handles stay as valid as they are
    { H::tenants_ended_if_not_moot() } -> std::same_as<std::uint64_t>; // another number between the next two
    {H::tenants_ended_is_moot()};
    {H::tenants_ended_counts()};
    { H::heap_tenant(heap) } -> std::same_as<allot_tenant *>; // whom its owner belongs to now
    { H::tenant_of_owner(owner) } -> std::same_as<allot_tenant *>;
    {H::owner_path(owner, path, bytes)}; // for messages: where the tenant stands; "" if that means nothing
    {H::owner_grab(owner)};
    {H::owner_put(owner)};
    // What a charge that returned false left, for when nothing is held: see attempts.hpp.
    typename H::unsettled;
    { H::settle_is_due() } -> std::same_as<bool>; // also after charges that succeeded
    {H::take_refusal(heap, left)};                // of the heap's last charge
    { H::settle(left) } -> std::same_as<bool>;    // true: the same may fit now
    {H::settle_charge(owner)};                    // after one that succeeded
    { H::transfer(owner, owner, bytes, left) } -> std::same_as<bool>;
    requires std::constructible_from<typename H::insistence_scope, insistence>; // for this thread's charges
};

struct null_hooks {
    static constexpr bool accounted = false;
    static constexpr bool keeps_requests() { return false; }
    struct slab_part {};
    struct heap_part {};
    static bool start(recount_source) { return true; }
    static void child_start() {}
    static void heap_open(heap_part &, std::uint32_t) {}
    static void heap_close(heap_part &) {}
    static void heap_park(heap_part &) {}
    static void heap_fold(heap_part &) {}
    static slab_part make_slab_part(const heap_part &, std::size_t) { return {}; }
    static bool charge(const slab_part &) { return true; }
    static bool charge_slow(const slab_part &) { return true; }
    static bool uncharge(const slab_part &) { return true; }
    static void uncharge_slow(const slab_part &) {}
    static bool charge_object(const heap_part &, std::size_t) { return true; }
    static void uncharge_object(const heap_part &, std::size_t) {}
    static void free_inherited(std::uint32_t, std::size_t) {}
    static void uncharge_owners(std::uint32_t, std::size_t) {}
    static bool charge_if_covered(const heap_part &, std::size_t, std::int32_t) { return true; }
    static bool charge_growth(const heap_part &, std::size_t, std::size_t) { return true; }
    static void uncharge_shrinkage(const heap_part &, std::size_t, std::size_t) {}
    static std::uint32_t owner_of(const heap_part &) { return 1; }
    static allot_tenant *root_tenant() { return nullptr; }
    static allot_tenant *default_tenant() { return nullptr; }
    static std::uint32_t owner_get(allot_tenant *) { return 1; }
    static std::uint32_t owner_now(allot_tenant *) { return 1; }
    static bool heap_serves(const heap_part &, allot_tenant *) { return true; }
    static std::uint64_t tenants_ended() { return 0; }
    static std::uint64_t tenants_ended_if_not_moot() { return 0; }
    static void tenants_ended_is_moot() {}
    static void tenants_ended_counts() {}
    static allot_tenant *heap_tenant(const heap_part &) { return nullptr; }
    static allot_tenant *tenant_of_owner(std::uint32_t) { return nullptr; }
    static void owner_path(std::uint32_t, char *path, std::size_t) { *path = '\0'; }
    static void owner_grab(std::uint32_t) {}
    static void owner_put(std::uint32_t) {}
    struct unsettled {};
    static constexpr bool settle_is_due() { return false; }
    static void take_refusal(const heap_part &, unsettled &) {}
    static bool settle(const unsettled &) { return false; }
    static void settle_charge(std::uint32_t) {}
    static bool transfer(std::uint32_t, std::uint32_t, std::size_t, unsettled &) { return true; }
    struct insistence_scope {
        explicit insistence_scope(insistence) {}
    };
};
static_assert(object_hooks<null_hooks>);

} // namespace allot
