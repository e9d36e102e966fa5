// The hooks that charge: the one file of alloc/ that includes accounting.
//
// Threads: as object_hooks; a part is used by the thread that owns its heap.
// Cost: charge and uncharge are one addition to the context's word and one comparison; no locked instruction.
#pragma once

#include "accounting/accounting.hpp"
#include "accounting/settle.hpp"
#include "alloc/alloc.hpp"
#include "alloc/object_hooks.hpp"

namespace allot {

static_assert(static_cast<charge_mode>(insistence::nowait) == charge_mode::nowait &&
              static_cast<charge_mode>(insistence::atomic) == charge_mode::atomic &&
              static_cast<charge_mode>(insistence::nofail) == charge_mode::nofail);

struct accounted_hooks {
    static constexpr bool accounted = true;
    static bool keeps_requests() { return keeps_each_request; }
    static constexpr bool can_record = true; // trace.hpp

    struct slab_part {
        context *ctx;
        net_word delta; // of one object: bytes and a count of one
    };
    struct heap_part {
        context *ctx;
        std::uint32_t obj_cgroup;
        // Whose it was when it was opened, and what tells that it still is; null: whoever asks looks it up.
        allot_tenant *tenant;
        const std::atomic<std::uint32_t> *generation;
    };

    static bool start(recount_source source);
    static void child_start();

    static void heap_open(heap_part &heap, std::uint32_t obj_cgroup) {
        heap.obj_cgroup = obj_cgroup;
        heap.ctx = counting ? context_open(obj_cgroup) : nullptr;
        if (heap.ctx == nullptr) // the region cannot grow: go on uncounted rather than not at all
            heap.ctx = &uncounted_context;
        heap.tenant = counting ? tenant_of(obj_cgroup) : nullptr;
        heap.generation = counting ? tenant_generation(heap.tenant) : nullptr;
    }
    static bool heap_serves(const heap_part &heap, allot_tenant *tenant) {
        return heap.tenant == tenant && heap.generation != nullptr && tenant_is_of(tenant, *heap.generation);
    }
    static std::uint64_t tenants_ended() { return tenants_ended_if_not_moot() & ~allot::tenants_ended_is_moot; }
    static std::uint64_t tenants_ended_if_not_moot() { return allot::tenants_ended.load(std::memory_order_acquire); }
    static void tenants_ended_is_moot() {
        allot::tenants_ended.fetch_or(allot::tenants_ended_is_moot, std::memory_order_acq_rel);
    }
    static void tenants_ended_counts() {
        allot::tenants_ended.fetch_and(~allot::tenants_ended_is_moot, std::memory_order_acq_rel);
    }
    static allot_tenant *heap_tenant(const heap_part &heap) {
        if (heap_serves(heap, heap.tenant)) [[likely]]
            return heap.tenant;
        return tenant_of_owner(heap.obj_cgroup);
    }
    static void heap_close(heap_part &heap) {
        if (heap.ctx != nullptr && heap.ctx != &uncounted_context) context_close(heap.ctx);
        heap = {};
    }
    static void heap_park(heap_part &heap) {
        if (heap.ctx != nullptr && heap.ctx != &uncounted_context) context_park(heap.ctx);
    }
    static void heap_fold(heap_part &heap) {
        // The bytes of the word are held between its two bounds; the count is not, and a refill is at most 2^14 objects.
        constexpr std::int32_t far = std::int32_t{1} << 29;
        std::int32_t objects = net_objects(heap.ctx->net.load(std::memory_order_relaxed));
        if ((objects > far || objects < -far) && heap.ctx != &uncounted_context) context_fold(heap.ctx);
    }

    static slab_part make_slab_part(const heap_part &heap, std::size_t bytes) {
        return {heap.ctx, net_of(static_cast<std::int64_t>(bytes), 1)};
    }
    [[gnu::always_inline]] static bool charge(const slab_part &slab) { return context_charge(*slab.ctx, slab.delta); }
    static bool charge_slow(const slab_part &slab) { return context_charge_slow(slab.ctx, slab.delta); }
    [[gnu::always_inline]] static bool uncharge(const slab_part &slab) {
        return context_uncharge(*slab.ctx, slab.delta);
    }
    static void uncharge_slow(const slab_part &slab) { context_uncharge_slow(slab.ctx); }

    static bool charge_object(const heap_part &heap, std::size_t bytes) {
        if (bytes >= direct_charge_bytes) return charge_large(heap, bytes);
        net_word delta = net_of(static_cast<std::int64_t>(bytes), 1);
        return context_charge(*heap.ctx, delta) || context_charge_slow(heap.ctx, delta);
    }
    static void uncharge_object(const heap_part &heap, std::size_t bytes) {
        if (bytes >= direct_charge_bytes)
            uncharge_large(heap, bytes);
        else if (!context_uncharge(*heap.ctx, net_of(static_cast<std::int64_t>(bytes), 1)))
            context_uncharge_slow(heap.ctx);
    }
    static void free_inherited(std::uint32_t owner, std::size_t bytes) { allot::free_inherited(owner, bytes); }
    static void uncharge_owners(std::uint32_t obj_cgroup, std::size_t bytes) {
        if (!counting) return;
        if (bytes >= direct_charge_bytes)
            uncharge_bytes(obj_cgroup, bytes, charge_kind::large);
        else
            uncharge_objects(obj_cgroup, bytes, 1);
    }
    static bool charge_if_covered(const heap_part &heap, std::size_t bytes, std::int32_t objects) {
        net_word delta = net_of(static_cast<std::int64_t>(bytes), objects);
        if (context_charge(*heap.ctx, delta)) [[likely]]
            return true;
        (void)context_uncharge(*heap.ctx, delta); // a slow path that is due remains due
        return false;
    }
    // Where the two sizes are in different books, the part that is not new changes the book alone.
    static bool charge_growth(const heap_part &heap, std::size_t from, std::size_t to) {
        if (to >= direct_charge_bytes) {
            bool changes_book = from < direct_charge_bytes;
            // What was never counted has no book to leave.
            bool all_is_new = changes_book && heap.ctx == &uncounted_context;
            if (!charge_large(heap, all_is_new ? to : to - from)) return false;
            if (changes_book && !all_is_new) context_object_to_large(heap.ctx, from);
            return true;
        }
        net_word delta = net_of(static_cast<std::int64_t>(to - from), 0);
        return context_charge(*heap.ctx, delta) || context_charge_slow(heap.ctx, delta);
    }
    static void uncharge_shrinkage(const heap_part &heap, std::size_t from, std::size_t to) {
        if (from >= direct_charge_bytes) {
            bool changes_book = to < direct_charge_bytes;
            bool all_goes = changes_book && heap.ctx == &uncounted_context;
            uncharge_large(heap, all_goes ? from : from - to);
            if (changes_book && !all_goes) context_large_to_object(heap.ctx, to);
        } else if (!context_uncharge(*heap.ctx, net_of(static_cast<std::int64_t>(from - to), 0))) {
            context_uncharge_slow(heap.ctx);
        }
    }

    static std::uint32_t owner_of(const heap_part &heap) { return heap.obj_cgroup; }
    static allot_tenant *root_tenant() { return counting ? tenant_root() : nullptr; }
    static allot_tenant *default_tenant() { return counting ? tenant_default() : nullptr; }
    static std::uint32_t owner_get(allot_tenant *tenant) { return counting ? obj_cgroup_get(tenant) : 1; }
    static std::uint32_t owner_now(allot_tenant *tenant) { return counting ? obj_cgroup_of(tenant) : 1; }
    static allot_tenant *tenant_of_owner(std::uint32_t obj_cgroup) {
        return counting ? tenant_of(obj_cgroup) : nullptr;
    }
    static void owner_path(std::uint32_t obj_cgroup, char *path, std::size_t bytes);
    static void owner_grab(std::uint32_t obj_cgroup) {
        if (counting) obj_cgroup_grab(obj_cgroup);
    }
    static void owner_put(std::uint32_t obj_cgroup) {
        if (counting) obj_cgroup_put(obj_cgroup);
    }
    using unsettled = refusal;
    static bool settle_is_due() { return allot::settle_is_due(); }
    // Where no context could be opened the refusal of a large block is not kept: it is final, and nobody is told.
    static void take_refusal(const heap_part &heap, unsettled &left) { refusal_take(*heap.ctx, left); }
    static bool settle(unsettled &left) { return settle_refusal(left); }
    static void settle_charge(std::uint32_t obj_cgroup) { allot::settle_charge(obj_cgroup); }
    static bool transfer(std::uint32_t from, std::uint32_t to, std::size_t bytes, unsettled &left) {
        return !counting || transfer_charge(from, to, bytes, 1, left);
    }
    struct insistence_scope : charge_mode_scope {
        explicit insistence_scope(insistence how) : charge_mode_scope(static_cast<charge_mode>(how)) {}
    };

    // False where accounting could not start or the program is excluded: nothing is counted or limited. Written once,
    // before the first heap; read by all.
    static bool counting;
    // The option requested:exact; written at the same time.
    static bool keeps_each_request;

    // Never refuses and never gives back. Its net is written by several threads without order: nobody reads it.
    static context uncounted_context;

private:
    // Without a context it goes by the owner: a large object may be freed where there is one.
    static bool charge_large(const heap_part &heap, std::size_t bytes) {
        if (heap.ctx != &uncounted_context) return context_charge_bytes(heap.ctx, bytes);
        refusal lost;
        return !counting || charge_bytes(heap.obj_cgroup, bytes, charge_kind::large, lost);
    }
    static void uncharge_large(const heap_part &heap, std::size_t bytes) {
        if (heap.ctx != &uncounted_context)
            context_uncharge_bytes(heap.ctx, bytes);
        else if (counting)
            uncharge_bytes(heap.obj_cgroup, bytes, charge_kind::large);
    }
};
static_assert(object_hooks<accounted_hooks>);

} // namespace allot
