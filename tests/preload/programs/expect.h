// What the programs of this folder share: a condition that must hold, and the size of a refused request.
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Says what was expected and ends with 1. Written without stdio's buffers: a child of fork says it too.
#define expect(condition) ((condition) ? (void)0 : expectation_failed(#condition, __FILE__, __LINE__))

static inline _Noreturn void expectation_failed(const char *what, const char *file, int line) {
    char text[512];
    const int length = snprintf(text, sizeof text, "%s:%d: expected: %s (errno %d)\n", file, line, what, errno);
    if (write(2, text, (size_t)length) < 0) _exit(3);
    _exit(1);
}

// Keeps the compiler from knowing what a pointer or a size is, and so from optimising calls of malloc away.
static inline void *opaque(void *p) {
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}
static inline size_t opaque_size(size_t n) {
    __asm__ volatile("" : "+r"(n));
    return n;
}
