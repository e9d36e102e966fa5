// Every operator new and delete of C++17, so that no pair of them crosses allocators.
//
// The library needs no libstdc++: what it takes to throw std::bad_alloc is found in the program, which has it if it can
// catch one.
#include "alloc/alloc.hpp"
#include "alloc/fast_path.hpp"
#include "preload/export.hpp"

#include <cstdlib>
#include <dlfcn.h>
#include <new>

using namespace allot;

// Weak: null in programs without libstdc++, or where it is loaded later and only for some library.
extern "C" [[gnu::weak]] std::new_handler _ZSt15get_new_handlerv();
extern "C" [[gnu::weak, noreturn]] void _ZSt17__throw_bad_allocv();

namespace {

template<typename F>
F *found(F *linked, const char *name) {
    return linked != nullptr ? linked : reinterpret_cast<F *>(dlsym(RTLD_DEFAULT, name));
}

std::new_handler new_handler_now() {
    auto *get = found(&_ZSt15get_new_handlerv, "_ZSt15get_new_handlerv");
    return get != nullptr ? get() : nullptr;
}

[[noreturn]] void throw_bad_alloc() {
    if (auto *thrower = found(&_ZSt17__throw_bad_allocv, "_ZSt17__throw_bad_allocv"); thrower != nullptr) thrower();
    std::abort(); // nobody could catch it
}

// Calls the new-handler until memory is found or there is no handler, as the standard asks.
template<typename Allocate>
[[gnu::noinline]] void *new_slow(Allocate allocate) {
    for (;;) {
        std::new_handler handler = new_handler_now();
        if (handler == nullptr) throw_bad_alloc();
        handler();
        if (void *p = allocate(); p != nullptr) return p;
    }
}

[[gnu::noinline]] void *plain_new_slow(std::size_t size) {
    return new_slow([size] { return heap_malloc(size); });
}

// A handler may throw out of a nothrow operator new, which must not let it; programs that do so end here, as with the
// allocators they know. Without a handler, which is the rule, this is just the refusal.
[[gnu::noinline]] void *nothrow_slow(std::size_t alignment, std::size_t size) noexcept {
    for (;;) {
        std::new_handler handler = new_handler_now();
        if (handler == nullptr) return nullptr;
        handler();
        if (void *p = heap_aligned_alloc(alignment, size); p != nullptr) return p;
    }
}

[[gnu::always_inline]] inline void *plain_new(std::size_t size) {
    void *p = fast_malloc(size);
    return p != nullptr ? p : plain_new_slow(size);
}
[[gnu::always_inline]] inline void *nothrow_new(std::size_t size) noexcept {
    void *p = fast_malloc(size);
    return p != nullptr ? p : nothrow_slow(granule_bytes, size);
}
void *aligned_new(std::size_t size, std::align_val_t alignment) {
    std::size_t align = static_cast<std::size_t>(alignment);
    void *p = heap_aligned_alloc(align, size);
    return p != nullptr ? p : new_slow([align, size] { return heap_aligned_alloc(align, size); });
}
void *aligned_nothrow_new(std::size_t size, std::align_val_t alignment) noexcept {
    std::size_t align = static_cast<std::size_t>(alignment);
    void *p = heap_aligned_alloc(align, size);
    return p != nullptr ? p : nothrow_slow(align, size);
}

} // namespace

ALLOT_EXPORT void *operator new(std::size_t size) { return plain_new(size); }
ALLOT_EXPORT void *operator new[](std::size_t size) { return plain_new(size); }
ALLOT_EXPORT void *operator new(std::size_t size, const std::nothrow_t &) noexcept { return nothrow_new(size); }
ALLOT_EXPORT void *operator new[](std::size_t size, const std::nothrow_t &) noexcept { return nothrow_new(size); }
ALLOT_EXPORT void *operator new(std::size_t size, std::align_val_t a) { return aligned_new(size, a); }
ALLOT_EXPORT void *operator new[](std::size_t size, std::align_val_t a) { return aligned_new(size, a); }
ALLOT_EXPORT void *operator new(std::size_t size, std::align_val_t a, const std::nothrow_t &) noexcept {
    return aligned_nothrow_new(size, a);
}
ALLOT_EXPORT void *operator new[](std::size_t size, std::align_val_t a, const std::nothrow_t &) noexcept {
    return aligned_nothrow_new(size, a);
}

ALLOT_EXPORT void operator delete(void *p) noexcept { fast_free(p); }
ALLOT_EXPORT void operator delete[](void *p) noexcept { fast_free(p); }
ALLOT_EXPORT void operator delete(void *p, const std::nothrow_t &) noexcept { fast_free(p); }
ALLOT_EXPORT void operator delete[](void *p, const std::nothrow_t &) noexcept { fast_free(p); }
ALLOT_EXPORT void operator delete(void *p, std::size_t size) noexcept { heap_free_sized(p, size); }
ALLOT_EXPORT void operator delete[](void *p, std::size_t size) noexcept { heap_free_sized(p, size); }
ALLOT_EXPORT void operator delete(void *p, std::align_val_t) noexcept { fast_free(p); }
ALLOT_EXPORT void operator delete[](void *p, std::align_val_t) noexcept { fast_free(p); }
ALLOT_EXPORT void operator delete(void *p, std::size_t size, std::align_val_t a) noexcept {
    heap_free_aligned_sized(p, static_cast<std::size_t>(a), size);
}
ALLOT_EXPORT void operator delete[](void *p, std::size_t size, std::align_val_t a) noexcept {
    heap_free_aligned_sized(p, static_cast<std::size_t>(a), size);
}
ALLOT_EXPORT void operator delete(void *p, std::align_val_t, const std::nothrow_t &) noexcept { fast_free(p); }
ALLOT_EXPORT void operator delete[](void *p, std::align_val_t, const std::nothrow_t &) noexcept { fast_free(p); }
