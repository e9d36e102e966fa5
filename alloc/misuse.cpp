#include "alloc/misuse.hpp"

#include "accounting/base/report.hpp"
#include "alloc/owner_vector.hpp"

#include <cstdlib>

namespace allot {

namespace {

[[noreturn]] void report(const char *kind, const slab *s, const void *p, const char *detail) {
    line_writer line;
    line.text("allot: ").text(kind).text(" of ").hexadecimal(reinterpret_cast<std::uintptr_t>(p));
    if (s != nullptr && is_cut(s)) line.text(", size class ").number(s->slot_bytes);
    if (s != nullptr && s->kind == unit_kind::large) line.text(", block of ").number(s->large_bytes).text(" bytes");
    char path[256];
    hooks::owner_path(s != nullptr ? owner_of_block(s, p) : 0, path, sizeof path);
    if (*path != '\0') line.text(", tenant ").name(path);
    if (detail != nullptr) line.text(": ").text(detail);
    line.write();
    std::abort();
}

void foreign_free(void *p) { misuse_foreign("free", p); }
void *foreign_realloc(void *p, std::size_t) { misuse_foreign("realloc", p); }
std::size_t foreign_usable_size(const void *p) { misuse_foreign("malloc_usable_size", p); }

} // namespace

constinit foreign_pointer_handler foreign_pointers{foreign_free, foreign_realloc, foreign_usable_size};

void heap_set_foreign_handler(const foreign_pointer_handler &handler) { foreign_pointers = handler; }

void check_live_slot(const slab *s, const void *p) {
    std::uintptr_t address = reinterpret_cast<std::uintptr_t>(p);
    if (address % granule_bytes != 0)
        report("unaligned free", s, p, "not aligned to 16 bytes, so no block starts there");
    std::uint32_t granule = static_cast<std::uint32_t>(granule_of(p)) & granule_mask;
    if (!slot_starts_at(s, granule)) report("invalid free", s, p, "it lies inside a block");
    if (slot_index(s, granule) >= read_shared(s->carved)) report("invalid free", s, p, "no block was ever there");
    if (marked_free(*static_cast<const std::uint64_t *>(p), s->remote_key)) report("double free", s, p, nullptr);
}

void misuse_invalid(const slab *s, const void *p) {
    bool inside = s->kind == unit_kind::large_tail || s->kind == unit_kind::large; // of a block that starts elsewhere
    report(inside ? "invalid free" : "double or invalid free", s, p,
           inside ? "it lies inside a block" : "no block is there");
}

void misuse_size(const slab *s, const void *p, std::size_t given) {
    line_writer detail;
    detail.text("the size given, ").number(given).text(", cannot be its own");
    report("sized free", s, p, detail.c_str());
}

void misuse_foreign(const char *function, const void *p) {
    line_writer line;
    line.text("allot: ").text(function).text(" of ").hexadecimal(reinterpret_cast<std::uintptr_t>(p));
    line.text(": not a block of this allocator").write();
    std::abort();
}

} // namespace allot
