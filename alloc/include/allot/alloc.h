/*
 * Allocating for a tenant: malloc-like and kmalloc-like calls, and the tenant a thread allocates for.
 *
 * They exist so that a program can embed allot without replacing its malloc: libraries that take allocation functions
 * (databases, interpreters) are given these, and each thread says for whom it works.
 *
 * Units: bytes. What is charged is the usable size, see allot_usable_size.
 * Ownership: a block belongs to the tenant it was allocated for until it is freed, by whichever thread, for whomever
 *   that thread works at the time. Where the tenant is destroyed before, the block belongs to its parent.
 * Threads: every function may be called from any thread, before main and after it, and in a forked child.
 * Errors: NULL with errno ENOMEM: refused by a limit, or no memory. Freeing never changes errno.
 * Misuse that is noticed (double, invalid, unaligned frees) ends the program with one line that says what it was.
 */
#ifndef ALLOT_ALLOC_H
#define ALLOT_ALLOC_H

#include <allot/tenant.h>

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The tenant that this thread allocates for from now on; NULL means the root. Returns the one before, so that calls
 * nest. A thread begins with the tenant of the process. */
ALLOT_API allot_tenant *allot_set_active(allot_tenant *tenant);

/* --- as malloc and its kin ------------------------------------------------------------------------------------- */
ALLOT_API void *allot_malloc(size_t size);
ALLOT_API void *allot_calloc(size_t count, size_t size); /* zeroed; ENOMEM also if the product overflows */
/* As glibc: NULL allocates; size 0 frees and returns NULL. The owner stays who it was while the block can stay where it
 * is; a block that moves belongs to the active tenant. On failure the old block is untouched. */
ALLOT_API void *allot_realloc(void *block, size_t size);
ALLOT_API void *allot_aligned_alloc(size_t alignment, size_t size); /* EINVAL: alignment is not a power of two */
ALLOT_API void allot_free(void *block);                             /* NULL is fine */
/* Bytes of the block that may be used: at least what was asked for, constant for its life, and what is charged. */
ALLOT_API size_t allot_usable_size(const void *block);

/* For a given tenant (NULL: the root), whatever this thread's active one is. ESTALE: it is gone. */
ALLOT_API void *allot_malloc_in(allot_tenant *tenant, size_t size);
/* Who pays for a block: the tenant, or the living ancestor that inherited it; NULL for NULL and for blocks that nobody
 * pays for in this process (inherited by fork). */
ALLOT_API allot_tenant *allot_owner_of(const void *block);
/* Makes another tenant (NULL: the root) pay for a block, where it lies. 0; -ENOMEM: it does not fit below that tenant's
 * limits, or there is no memory; -EINVAL: not the start of a live block, or one that nobody pays for in this process;
 * -ESTALE: that tenant is gone. Then nothing has changed. The caller sees to it that no other thread frees, resizes or
 * transfers the block meanwhile. */
ALLOT_API int allot_transfer(void *block, allot_tenant *to);

/* Frees every block that the tenant itself owns, as the end of a heap does: not those of its children, and external bytes
 * stay. 0; -EBUSY: another thread has it active, the caller may; -EINVAL: the root (or NULL); -ESTALE: it is gone; -ENOMEM.
 * Threads that make it active meanwhile wait. The caller sees to it that no other thread frees, resizes or transfers its
 * blocks meanwhile, or uses them afterwards. */
ALLOT_API int allot_tenant_reset(allot_tenant *tenant);

/* From begin to end this thread's allocations are charged to the root's own line, not to its tenant. Nests. */
ALLOT_API void allot_unaccounted_begin(void);
ALLOT_API void allot_unaccounted_end(void);

/* --- as the kernel's kmalloc and its kin ------------------------------------------------------------------------ */
typedef enum allot_gfp {
    ALLOT_KERNEL = 0,           /* charged to the active tenant, as every call is */
    ALLOT_UNACCOUNTED = 1 << 0, /* charged to the root's own line */
    ALLOT_ZERO = 1 << 1,        /* zeroed */
    /* At most one of these. They are about limits: where the system has no memory, or memory.fail says so, every call
     * fails. */
    ALLOT_NOFAIL = 1 << 2, /* when nothing else helps, shrinkers included, it goes over the limits */
    ALLOT_ATOMIC = 1 << 3, /* no callbacks, no delays, nobody's stock: what does not fit goes over the limits at once */
    ALLOT_NOWAIT = 1 << 4, /* no callbacks, no delays, no policy: what does not fit fails */
    ALLOT_GFP_NONE =
        -0x7fffffff - 1 /* not a flag: makes every int a value of the type, so that a wrong one can be told */
} allot_gfp;

/* Other flags, or two that exclude each other: NULL with EINVAL. */
ALLOT_API void *allot_kmalloc(size_t size, allot_gfp flags);               /* as allot_malloc, and as the flags say */
ALLOT_API void *allot_kzalloc(size_t size, allot_gfp flags);               /* zeroed */
ALLOT_API void *allot_kcalloc(size_t count, size_t size, allot_gfp flags); /* zeroed */
/* NULL: as allot_kmalloc. Else bytes beyond the old size are not zeroed; what moves is charged as the flags say. */
ALLOT_API void *allot_krealloc(void *block, size_t size, allot_gfp flags);
ALLOT_API void allot_kfree(const void *block);
ALLOT_API size_t allot_ksize(const void *block);

#ifdef __cplusplus
}
#endif

#endif
