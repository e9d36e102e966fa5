#include "alloc/metadata.hpp"

#include "accounting/base/os.hpp"
#include "alloc/lock.hpp"

#include <bit>
#include <cstring>
#include <pthread.h>

namespace allot {

constinit std::uint64_t *fork_mark_here = nullptr;

namespace {

constexpr std::size_t chunk_bytes = std::size_t{1} << 16;
constexpr std::size_t max_wiped_chunks = 4096; // 256 MiB: fronts of more than 400,000 heaps
constexpr unsigned nr_orders = 17;             // 16 bytes … 1 MiB

struct free_piece {
    free_piece *next;
};

// Where chunks are, for who asks what is in memory: they are never unmapped.
struct chunk_list {
    static constexpr std::uint32_t capacity = 255;
    chunk_list *next;
    std::uint64_t length;
    struct {
        std::uintptr_t start;
        std::size_t bytes;
    } chunks[capacity];
};
static_assert(sizeof(chunk_list) == 4096);

// Under `lock`.
struct metadata_state {
    process_lock lock;
    free_piece *free[nr_orders];
    std::uintptr_t bump, bump_end;
    std::uintptr_t lasting, lasting_end;
    std::uint64_t mapped;
    chunk_list *chunks; // not the wiped ones; the newest part first

    std::uintptr_t wiped_chunks[max_wiped_chunks];
    std::uint32_t nr_wiped_chunks; // mapped
    std::uint32_t wiped_chunk;     // in use
    std::size_t wiped_used;        // of that chunk
    bool wipes_by_hand;            // the kernel does not know MADV_WIPEONFORK
};
constinit metadata_state meta{};

// 0: no memory.
std::uintptr_t map_chunk(std::size_t bytes) {
    if (meta.chunks == nullptr || meta.chunks->length == chunk_list::capacity) {
        auto *part = reinterpret_cast<chunk_list *>(os_map(sizeof(chunk_list)));
        if (part == nullptr) return 0;
        part->next = meta.chunks;
        meta.chunks = part;
        meta.mapped += sizeof(chunk_list);
    }
    std::uintptr_t chunk = os_map(bytes);
    if (chunk == 0) return 0;
    meta.chunks->chunks[meta.chunks->length] = {chunk, bytes};
    meta.chunks->length++;
    meta.mapped += bytes;
    return chunk;
}

unsigned order_of(std::size_t bytes) { return bytes <= 16 ? 0 : static_cast<unsigned>(std::bit_width(bytes - 1)) - 4; }

void wipe_by_hand() {
    for (std::uint32_t i = 0; i < meta.nr_wiped_chunks; ++i)
        std::memset(reinterpret_cast<void *>(meta.wiped_chunks[i]), 0, chunk_bytes);
}

bool next_wiped_chunk() {
    if (meta.nr_wiped_chunks != 0 && meta.wiped_chunk + 1 < meta.nr_wiped_chunks) {
        meta.wiped_chunk++;
        meta.wiped_used = 0;
        return true;
    }
    if (meta.nr_wiped_chunks == max_wiped_chunks) return false;
    std::uintptr_t chunk = os_map(chunk_bytes);
    if (chunk == 0) return false;
    meta.mapped += chunk_bytes;
    if (!meta.wipes_by_hand && !os_wipe_on_fork(chunk, chunk_bytes)) {
        meta.wipes_by_hand = true;
        pthread_atfork(nullptr, nullptr, wipe_by_hand);
    }
    meta.wiped_chunks[meta.nr_wiped_chunks] = chunk;
    meta.wiped_chunk = meta.nr_wiped_chunks++;
    meta.wiped_used = 0;
    return true;
}

// Other threads may be on their way here: who sees the mark sees that it is set, or would take itself for a child.
void set_mark() {
    auto *m = reinterpret_cast<std::uint64_t *>(meta.wiped_chunks[0]);
    *m = 1;
    __atomic_store_n(&fork_mark_here, m, __ATOMIC_RELEASE);
    meta.wiped_used = 128;
}

} // namespace

void *metadata_alloc(std::size_t bytes) {
    unsigned order = order_of(bytes);
    if (order >= nr_orders) return nullptr;
    std::size_t size = std::size_t{16} << order;
    lock_guard guard(meta.lock);
    if (free_piece *piece = meta.free[order]; piece != nullptr) {
        meta.free[order] = piece->next;
        std::memset(static_cast<void *>(piece), 0, size);
        return piece;
    }
    if (size >= chunk_bytes) return reinterpret_cast<void *>(map_chunk(size));
    if (meta.bump_end - meta.bump < size) {
        std::uintptr_t chunk = map_chunk(chunk_bytes);
        if (chunk == 0) return nullptr;
        meta.bump = chunk;
        meta.bump_end = chunk + chunk_bytes;
    }
    void *piece = reinterpret_cast<void *>(meta.bump);
    meta.bump += size;
    return piece;
}

void metadata_free(void *p, std::size_t bytes) {
    unsigned order = order_of(bytes);
    free_piece *piece = static_cast<free_piece *>(p);
    lock_guard guard(meta.lock);
    piece->next = meta.free[order];
    meta.free[order] = piece;
}

void *wiped_alloc(std::size_t bytes) {
    bytes = (bytes + 127) & ~std::size_t{127};
    lock_guard guard(meta.lock);
    if (meta.nr_wiped_chunks == 0 || meta.wiped_used + bytes > chunk_bytes) {
        bool first = meta.nr_wiped_chunks == 0;
        if (bytes > chunk_bytes - 128 || !next_wiped_chunk()) return nullptr;
        if (first) set_mark();
    }
    void *p = reinterpret_cast<void *>(meta.wiped_chunks[meta.wiped_chunk] + meta.wiped_used);
    meta.wiped_used += bytes;
    return p;
}

void *lasting_alloc(std::size_t bytes) {
    bytes = (bytes + 127) & ~std::size_t{127};
    lock_guard guard(meta.lock);
    if (meta.lasting_end - meta.lasting < bytes) {
        std::uintptr_t chunk = bytes > chunk_bytes ? 0 : map_chunk(chunk_bytes);
        if (chunk == 0) return nullptr;
        meta.lasting = chunk;
        meta.lasting_end = chunk + chunk_bytes;
    }
    void *p = reinterpret_cast<void *>(meta.lasting);
    meta.lasting += bytes;
    return p;
}

std::uint64_t metadata_mapped_bytes() {
    lock_guard guard(meta.lock);
    return meta.mapped;
}

void metadata_for_each_range(void (*visit)(void *state, std::uintptr_t start, std::size_t bytes), void *state) {
    lock_guard guard(meta.lock);
    for (std::uint32_t i = 0; i < meta.nr_wiped_chunks; ++i) visit(state, meta.wiped_chunks[i], chunk_bytes);
    for (chunk_list *part = meta.chunks; part != nullptr; part = part->next) {
        visit(state, reinterpret_cast<std::uintptr_t>(part), sizeof *part);
        for (std::uint64_t i = 0; i < part->length; ++i) visit(state, part->chunks[i].start, part->chunks[i].bytes);
    }
}

void metadata_child_start() {
    meta.lock.make_anew();
    for (free_piece *&list : meta.free) // another thread may have been half-way through changing it
        list = nullptr;
    meta.bump = meta.bump_end = meta.lasting = meta.lasting_end = 0;
    meta.wiped_chunk = 0;
    set_mark();
}

} // namespace allot
