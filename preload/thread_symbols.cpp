// libc's names for what is done with threads: pthread_create, pthread_setname_np, prctl and syscall. They are apart from
// preload/threads.hpp so that tests can call that without changing how they make threads themselves.
#include "accounting/accounting.hpp"
#include "accounting/base/os.hpp"
#include "alloc/alloc.hpp"
#include "preload/export.hpp"
#include "preload/next_symbol.hpp"
#include "preload/threads.hpp"

#include <cerrno>
#include <cstdarg>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

namespace {

// A filter is about to come that may kill for a system call it does not know: what could be one stops before.
void seccomp_seen() {
    allot::accounting_seccomp_seen();
    allot::heap_seccomp_seen();
}

constinit allot::next_symbol next_pthread_create{"pthread_create"};
constinit allot::next_symbol next_pthread_setname_np{"pthread_setname_np"};
} // namespace

extern "C" {

ALLOT_EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*routine)(void *),
                                void *argument) noexcept {
    auto *const create = next_pthread_create.get<decltype(pthread_create)>();
    if (!create) return EAGAIN;
    if (!allot::threads_have_rules()) return create(thread, attributes, routine, argument);
    allot::thread_start *record = allot::thread_start_make(routine, argument);
    if (!record) return EAGAIN;
    const int error = create(thread, attributes, allot::thread_main, record);
    if (error) allot::thread_start_drop(record);
    return error;
}

ALLOT_EXPORT int pthread_setname_np(pthread_t thread, const char *name) noexcept {
    auto *const set_name = next_pthread_setname_np.get<decltype(pthread_setname_np)>();
    if (!set_name) return ENOSYS;
    const int error = set_name(thread, name);
    // Another thread's tenant is its own to change: it does so when it next renames itself.
    if (!error && pthread_equal(thread, pthread_self()) && allot::threads_have_rules()) allot::thread_apply_rules();
    return error;
}

// All arguments are read whether they were passed or not, as libc does.
ALLOT_EXPORT int prctl(int option, ...) noexcept {
    va_list list;
    va_start(list, option);
    long arguments[4];
    for (long &argument : arguments) argument = va_arg(list, long);
    va_end(list);
    if (option == PR_SET_SECCOMP) seccomp_seen();
    const long result = allot::os_call(SYS_prctl, option, arguments[0], arguments[1], arguments[2], arguments[3]);
    if (result < 0 && result > -4096) {
        errno = static_cast<int>(-result);
        return -1;
    }
    if (option == PR_SET_NAME && allot::threads_have_rules()) allot::thread_apply_rules();
    return static_cast<int>(result);
}

// For the assembly below.
[[gnu::visibility("hidden")]] void allot_seccomp_seen();
void allot_seccomp_seen() { seccomp_seen(); }

} // extern "C"

// syscall(2) as libc has it, but for SYS_seccomp. In assembly, since a call that returns on another stack (clone, vfork)
// must find nothing of ours on it.
#if defined(__x86_64__)
static_assert(SYS_seccomp == 317);
__asm__(R"(
    .text
    .globl syscall
    .type syscall, @function
    .p2align 4
syscall:
    .cfi_startproc
    endbr64
    cmpq $317, %rdi
    je 2f
1:  movq %rdi, %rax
    movq %rsi, %rdi
    movq %rdx, %rsi
    movq %rcx, %rdx
    movq %r8, %r10
    movq %r9, %r8
    movq 8(%rsp), %r9
    syscall
    cmpq $-4095, %rax
    jae 3f
    ret
2:  pushq %rdi
    pushq %rsi
    pushq %rdx
    pushq %rcx
    pushq %r8
    pushq %r9
    subq $8, %rsp
    .cfi_adjust_cfa_offset 56
    call allot_seccomp_seen
    addq $8, %rsp
    popq %r9
    popq %r8
    popq %rcx
    popq %rdx
    popq %rsi
    popq %rdi
    .cfi_adjust_cfa_offset -56
    jmp 1b
3:  negl %eax
    pushq %rax
    .cfi_adjust_cfa_offset 8
    call *__errno_location@GOTPCREL(%rip)
    popq %rcx
    .cfi_adjust_cfa_offset -8
    movl %ecx, (%rax)
    orq $-1, %rax
    ret
    .cfi_endproc
    .size syscall, . - syscall
)");
#endif
