// Recording: what slow paths tell a trace, where one is asked for.
//
// It costs nothing where it is not: no fast path knows of it. While a process records, thread_here.active is blank for ever
// (active.hpp): each operation finds no slab or another tag, takes its slow path, and is told here. There the operation
// is done as the fast path would do it, so that a recorded program allocates as others do.
//
// What a handler allocates that interrupts a slow path, from the reserve, is not charged and not recorded. What a parent
// allocated before a fork is not its child's: frees of it are not recorded in the child.
//
// Threads: the home's own. Owner: streams live as long as their homes.
// Invariants: 1. Recording begins with the process or never; it may end, for good, when the file takes no more.
// Cost: off: one comparison a slow path. On: a slow path and about ten bytes of the file an operation.
#pragma once

#include "alloc/heap.hpp"

namespace allot {

// Whether these hooks' allocator records at all: it needs names of owners that outlive the process.
template<typename Hooks>
constexpr bool hooks_can_record() {
    if constexpr (requires { Hooks::can_record; })
        return Hooks::can_record;
    else
        return false;
}
inline constexpr bool can_record = hooks_can_record<hooks>();

// Written at the start of the process and where recording ends; read by every slow path, relaxed: one record more or less.
[[gnu::visibility("hidden")]] extern std::uint32_t trace_on;

inline bool trace_is_on() {
    if constexpr (can_record)
        return read_shared(trace_on) != 0;
    else
        return false;
}

// Before the first home; an absolute path. What is wrong with it is told in one line, and nothing is recorded.
void trace_start(const char *path, const char *program);
// In the child of a fork: nullptr for the parent's file.
void trace_child_start(const char *path);

// --- recording, if it is on; defined where can_record is ------------------------------------------------
void trace_alloc_slow(home *, const void *block, std::size_t requested, std::size_t usable);
void trace_free_slow(home *, const void *block);
void trace_resize_slow(home *, const void *block, std::size_t requested, std::size_t usable);
void trace_transfer_slow(home *, const void *block, std::uint32_t owner);
void trace_refused_slow(std::size_t requested);
[[nodiscard]] void *trace_fast_malloc_slow(home *, std::size_t size);
[[nodiscard]] bool trace_fast_free_slow(home *, slab *, void *block);

// As the fast path does it. nullptr, false: that cannot be, or nothing is recorded; nothing has happened.
[[nodiscard]] inline void *trace_fast_malloc(home *h, std::size_t size) {
    if constexpr (can_record)
        if (trace_is_on()) [[unlikely]]
            return trace_fast_malloc_slow(h, size);
    return nullptr;
}
[[nodiscard]] inline bool trace_fast_free(home *h, slab *s, void *block) {
    if constexpr (can_record)
        if (trace_is_on()) [[unlikely]]
            return trace_fast_free_slow(h, s, block);
    return false;
}
// In the visit that allocated it.
inline void trace_alloc(home *h, const void *block, std::size_t requested, std::size_t usable) {
    if constexpr (can_record)
        if (trace_is_on() && block != nullptr) [[unlikely]]
            trace_alloc_slow(h, block, requested, usable);
}
// Before anybody else can have it.
inline void trace_free(home *h, const void *block) {
    if constexpr (can_record)
        if (trace_is_on() && h != nullptr) [[unlikely]]
            trace_free_slow(h, block);
}
inline void trace_resize(home *h, const void *block, std::size_t requested, std::size_t usable) {
    if constexpr (can_record)
        if (trace_is_on() && h != nullptr) [[unlikely]]
            trace_resize_slow(h, block, requested, usable);
}
inline void trace_transfer(home *h, const void *block, std::uint32_t owner) {
    if constexpr (can_record)
        if (trace_is_on()) [[unlikely]]
            trace_transfer_slow(h, block, owner);
}
// The program's answer; with no visit.
inline void *trace_refusal(void *block, std::size_t requested) {
    if constexpr (can_record)
        if (trace_is_on() && block == nullptr) [[unlikely]]
            trace_refused_slow(requested);
    return block;
}

} // namespace allot
