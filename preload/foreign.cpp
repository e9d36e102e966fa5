#include "preload/foreign.hpp"

#include "accounting/base/os.hpp"
#include "accounting/base/report.hpp"
#include "alloc/alloc.hpp"
#include "preload/next_symbol.hpp"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sys/syscall.h>

namespace allot {

namespace {

constinit next_symbol next_free{"free"};
constinit next_symbol next_usable_size{"malloc_usable_size"};

// glibc's layout, which has been the same for twenty years and is part of what debuggers and core tools read: two words
// before a block, the size with three flags in the second one.
struct chunk_header {
    std::uintptr_t before; // of a mapped chunk: bytes between the mapping's start and the header
    std::uintptr_t size;
};
constexpr std::uintptr_t is_mapped = 2;
constexpr std::uintptr_t in_other_arena = 4;
constexpr std::uintptr_t flags = 7;
constexpr std::uintptr_t block_alignment = 16;
constexpr std::uintptr_t least_chunk = 32;
constexpr std::uintptr_t os_page_least = 4096; // every page size is a multiple

// The start of a heap of another arena; heaps are aligned to their greatest size.
struct arena_heap {
    std::uintptr_t arena;
    std::uintptr_t before;
    std::uintptr_t size;
};
constexpr std::uintptr_t arena_heap_alignment = std::uintptr_t{64} << 20;

// The kernel copies; what cannot be read is a refusal and not a fault. rt_sigprocmask looks at the new mask before it
// finds that there is no such operation, so it reads eight bytes and changes nothing.
bool can_read(std::uintptr_t address, std::size_t bytes) {
    constexpr long no_operation = 9999;
    constexpr long einval = -22;
    for (std::uintptr_t at = address; at < address + bytes; at += 8)
        if (os_call(SYS_rt_sigprocmask, no_operation, static_cast<long>(at), 0, 8) != einval) return false;
    return true;
}

bool is_mapped_chunk(std::uintptr_t header_address, const chunk_header &header) {
    const std::uintptr_t size = header.size & ~flags;
    const std::uintptr_t in_page = (header_address + sizeof(chunk_header)) % os_page_least; // where the block begins
    return (header_address - header.before) % os_page_least == 0 && (header.before + size) % os_page_least == 0 &&
           (in_page & (in_page - 1)) == 0 && header.before < header_address;
}

bool is_arena_chunk(std::uintptr_t header_address, const chunk_header &header) {
    const std::uintptr_t start = header_address & ~(arena_heap_alignment - 1);
    if (!can_read(start, sizeof(arena_heap))) return false;
    const auto *heap = reinterpret_cast<const arena_heap *>(start);
    return heap->arena % block_alignment == 0 && heap->arena != 0 && heap->size % os_page_least == 0 &&
           heap->size <= arena_heap_alignment && header_address + (header.size & ~flags) <= start + heap->size;
}

bool is_heap_chunk(std::uintptr_t header_address, const chunk_header &header) {
    const auto end = static_cast<std::uintptr_t>(os_call(SYS_brk, 0));
    constexpr std::uintptr_t heap_bytes_most = std::uintptr_t{1} << 40; // the area of brk ends there and begins below
    return header_address < end && end - header_address < heap_bytes_most &&
           header_address + (header.size & ~flags) <= end;
}

const char *words_for(foreign_kind kind) {
    switch (kind) {
    case foreign_kind::unaligned: return "unaligned, so no malloc can have returned it";
    case foreign_kind::unmapped: return "nothing is mapped there";
    default: return "not a block of this allocator, nor of libc's";
    }
}

[[noreturn]] void reject(const char *function, const void *pointer, foreign_kind kind) {
    line_writer line;
    line.text("allot: ").text(function).text(" of an invalid pointer ");
    line.hexadecimal(reinterpret_cast<std::uintptr_t>(pointer)).text(": ").text(words_for(kind)).write();
    std::abort();
}

void require_libc(const char *function, const void *pointer) {
    const foreign_kind kind = foreign_kind_of(pointer);
    const bool libc =
        kind == foreign_kind::libc_heap || kind == foreign_kind::libc_arena || kind == foreign_kind::libc_mapping;
    if (!libc) reject(function, pointer, kind);
}

void foreign_free(void *pointer) {
    require_libc("free", pointer);
    if (auto *const free_it = next_free.get<void(void *)>()) free_it(pointer);
}

std::size_t foreign_usable_size(const void *pointer) {
    require_libc("malloc_usable_size", pointer);
    auto *const size_of = next_usable_size.get<std::size_t(const void *)>();
    return size_of ? size_of(pointer) : 0;
}

void *foreign_realloc(void *pointer, std::size_t size) {
    require_libc("realloc", pointer);
    if (size == 0) {
        foreign_free(pointer);
        return nullptr;
    }
    void *moved = heap_malloc(size);
    if (!moved) return nullptr;
    const std::size_t old_size = foreign_usable_size(pointer);
    std::memcpy(moved, pointer, old_size < size ? old_size : size);
    foreign_free(pointer);
    return moved;
}

} // namespace

foreign_kind foreign_kind_of(const void *pointer) {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    if (address % block_alignment != 0) return foreign_kind::unaligned;
    const std::uintptr_t header_address = address - sizeof(chunk_header);
    if (address < os_page_least || !can_read(header_address, sizeof(chunk_header))) return foreign_kind::unmapped;
    const chunk_header header = *reinterpret_cast<const chunk_header *>(header_address);
    const std::uintptr_t size = header.size & ~flags;
    if (size < least_chunk || size % block_alignment != 0 || size > PTRDIFF_MAX) return foreign_kind::unknown;
    if (header.size & is_mapped)
        return is_mapped_chunk(header_address, header) ? foreign_kind::libc_mapping : foreign_kind::unknown;
    if (header.size & in_other_arena)
        return is_arena_chunk(header_address, header) ? foreign_kind::libc_arena : foreign_kind::unknown;
    return is_heap_chunk(header_address, header) ? foreign_kind::libc_heap : foreign_kind::unknown;
}

void foreign_start() { heap_set_foreign_handler({foreign_free, foreign_realloc, foreign_usable_size}); }

} // namespace allot
