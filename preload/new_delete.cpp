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

[[gnu::noinline]] void *plain_new_slow(std::size_t size, const void *caller) {
    return new_slow([=] { return aligned_alloc_for_caller(granule_bytes, size, caller); });
}

// A handler may throw out of a nothrow operator new, which must not let it; programs that do so end here, as with the
// allocators they know. Without a handler, which is the rule, this is just the refusal.
[[gnu::noinline]] void *nothrow_slow(std::size_t alignment, std::size_t size, const void *caller) noexcept {
    for (;;) {
        std::new_handler handler = new_handler_now();
        if (handler == nullptr) return nullptr;
        handler();
        if (void *p = aligned_alloc_for_caller(alignment, size, caller); p != nullptr) return p;
    }
}

[[gnu::always_inline]] inline void *plain_new(std::size_t size) {
    void *p = fast_malloc<caller_misses>(size);
    return p != nullptr ? p : plain_new_slow(size, __builtin_return_address(0));
}
[[gnu::always_inline]] inline void *nothrow_new(std::size_t size) noexcept {
    void *p = fast_malloc<caller_misses>(size);
    return p != nullptr ? p : nothrow_slow(granule_bytes, size, __builtin_return_address(0));
}
void *aligned_new(std::size_t size, std::align_val_t alignment, const void *caller) {
    std::size_t align = static_cast<std::size_t>(alignment);
    void *p = aligned_alloc_for_caller(align, size, caller);
    return p != nullptr ? p : new_slow([=] { return aligned_alloc_for_caller(align, size, caller); });
}
void *aligned_nothrow_new(std::size_t size, std::align_val_t alignment, const void *caller) noexcept {
    std::size_t align = static_cast<std::size_t>(alignment);
    void *p = aligned_alloc_for_caller(align, size, caller);
    return p != nullptr ? p : nothrow_slow(align, size, caller);
}

} // namespace

// One function where what they do is the same: new and new[] differ in their names, deletes in what they are told and need not know.
#define ALLOT_IS(symbol) __attribute__((alias(#symbol)))
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wattribute-alias"
#endif
ALLOT_EXPORT void *operator new(std::size_t size) { return plain_new(size); }
ALLOT_EXPORT void *operator new[](std::size_t) ALLOT_IS(_Znwm);
ALLOT_EXPORT void *operator new(std::size_t size, const std::nothrow_t &) noexcept { return nothrow_new(size); }
ALLOT_EXPORT void *operator new[](std::size_t, const std::nothrow_t &) noexcept ALLOT_IS(_ZnwmRKSt9nothrow_t);
ALLOT_EXPORT void *operator new(std::size_t size, std::align_val_t a) {
    return aligned_new(size, a, __builtin_return_address(0));
}
ALLOT_EXPORT void *operator new[](std::size_t, std::align_val_t) ALLOT_IS(_ZnwmSt11align_val_t);
ALLOT_EXPORT void *operator new(std::size_t size, std::align_val_t a, const std::nothrow_t &) noexcept {
    return aligned_nothrow_new(size, a, __builtin_return_address(0));
}
ALLOT_EXPORT void *operator new[](std::size_t, std::align_val_t, const std::nothrow_t &) noexcept
    ALLOT_IS(_ZnwmSt11align_val_tRKSt9nothrow_t);

ALLOT_EXPORT void operator delete(void *p) noexcept { fast_free(p); }
ALLOT_EXPORT void operator delete[](void *) noexcept ALLOT_IS(_ZdlPv);
ALLOT_EXPORT void operator delete(void *, const std::nothrow_t &) noexcept ALLOT_IS(_ZdlPv);
ALLOT_EXPORT void operator delete[](void *, const std::nothrow_t &) noexcept ALLOT_IS(_ZdlPv);
ALLOT_EXPORT void operator delete(void *, std::align_val_t) noexcept ALLOT_IS(_ZdlPv);
ALLOT_EXPORT void operator delete[](void *, std::align_val_t) noexcept ALLOT_IS(_ZdlPv);
ALLOT_EXPORT void operator delete(void *, std::align_val_t, const std::nothrow_t &) noexcept ALLOT_IS(_ZdlPv);
ALLOT_EXPORT void operator delete[](void *, std::align_val_t, const std::nothrow_t &) noexcept ALLOT_IS(_ZdlPv);
ALLOT_EXPORT void operator delete(void *p, std::size_t size) noexcept { heap_free_sized(p, size); }
ALLOT_EXPORT void operator delete[](void *, std::size_t) noexcept ALLOT_IS(_ZdlPvm);
ALLOT_EXPORT void operator delete(void *p, std::size_t size, std::align_val_t a) noexcept {
    heap_free_aligned_sized(p, static_cast<std::size_t>(a), size);
}
ALLOT_EXPORT void operator delete[](void *, std::size_t, std::align_val_t) noexcept ALLOT_IS(_ZdlPvmSt11align_val_t);
