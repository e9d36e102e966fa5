// A system call without libc: the kernel's answer as it is, errno untouched.
//
// It exists because the wrappers of this folder carry libc's own names: calling mmap here would call ourselves. It also
// works before libc is ready, in a signal handler, and in the child of vfork.
//
// Threads: any. Cost: the system call.
#pragma once

#include <sys/syscall.h>

namespace allot {

// Returns what the kernel returns: -4095..-1 is an error number, negated.
inline long raw_syscall(long number, unsigned long a = 0, unsigned long b = 0, unsigned long c = 0, unsigned long d = 0,
                        unsigned long e = 0, unsigned long f = 0) {
#if defined(__x86_64__)
    long result;
    register unsigned long r10 __asm__("r10") = d;
    register unsigned long r8 __asm__("r8") = e;
    register unsigned long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register unsigned long x0 __asm__("x0") = a;
    register unsigned long x1 __asm__("x1") = b;
    register unsigned long x2 __asm__("x2") = c;
    register unsigned long x3 __asm__("x3") = d;
    register unsigned long x4 __asm__("x4") = e;
    register unsigned long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return static_cast<long>(x0);
#else
#error "raw_syscall: say how a system call is made on this machine"
#endif
}

inline bool is_error(long result) { return result < 0 && result > -4096; }

} // namespace allot
