// dlopen without RTLD_DEEPBIND.
//
// A library that is opened with that flag finds libc's free before ours, while what it frees came from our malloc; PHP
// opens its extensions so. The flag is cleared and the real dlopen is jumped to, not called: it takes the caller's
// RUNPATH from the return address, which must stay the program's own. In assembly for that reason, whatever the
// compiler's options are.
//
// Threads: any. Cost: one load and a jump; the first call searches the real one.
#include "preload/next_symbol.hpp"

#include <dlfcn.h>

namespace {
constinit allot::next_symbol next_dlopen{"dlopen"};
} // namespace

extern "C" {

// For the assembly below, and for a constructor that wants the search done early.
[[gnu::visibility("hidden")]] void *allot_next_dlopen();
void *allot_next_dlopen() { return reinterpret_cast<void *>(next_dlopen.get<decltype(dlopen)>()); }

} // extern "C"

#if defined(__x86_64__)
static_assert(RTLD_DEEPBIND == 8);
__asm__(R"(
    .text
    .globl dlopen
    .type dlopen, @function
    .p2align 4
dlopen:
    .cfi_startproc
    endbr64
    pushq %rdi
    pushq %rsi
    subq $8, %rsp
    .cfi_adjust_cfa_offset 24
    call allot_next_dlopen
    addq $8, %rsp
    popq %rsi
    popq %rdi
    .cfi_adjust_cfa_offset -24
    andl $-9, %esi
    testq %rax, %rax
    je 1f
    jmp *%rax
1:  ret
    .cfi_endproc
    .size dlopen, . - dlopen
)");
#else
// Elsewhere the compiler has to make the jump; -foptimize-sibling-calls does.
extern "C" [[gnu::visibility("default"), gnu::optimize("O2")]] void *dlopen(const char *file, int mode) noexcept {
    auto *const next = reinterpret_cast<void *(*)(const char *, int)>(allot_next_dlopen());
    return next ? next(file, mode & ~RTLD_DEEPBIND) : nullptr;
}
#endif
