/*
 * Tenants: the nodes of the tree that memory is charged to, with cgroup v2's files.
 *
 * They exist so that one process can keep a bill, and a limit, for each of the parties it allocates for. A charge is
 * taken at a tenant and at all its ancestors, or at none.
 *
 * Units: bytes. Sizes in texts are what the command accepts: "64M", "1G500M", "50%" (of the parent's max), "max".
 * Ownership: an allot_tenant * is an index and a generation in a pointer's bits; it is never dereferenced, needs no
 *   freeing, and one of a destroyed tenant is noticed (-ESTALE).
 * Threads: every function may be called from any thread.
 * Errors: functions return 0 or a length, or a negative errno; those that return a pointer return NULL and set errno.
 *   Other functions leave errno as it was.
 */
#ifndef ALLOT_TENANT_H
#define ALLOT_TENANT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define ALLOT_API __attribute__((visibility("default")))
#else
#define ALLOT_API
#endif

typedef struct allot_tenant allot_tenant;

/* A name has 1 to 63 bytes, none of them '/', and is not "." or "..". A tree is at most this deep below its root. */
#define ALLOT_TENANT_NAME_MAX 63
#define ALLOT_TENANT_DEPTH_MAX 31

/* The root, "/". Never destroyed. NULL with ENOMEM only where not even the tables could be mapped. */
ALLOT_API allot_tenant *allot_root(void);

/* A new tenant without limits below parent (NULL: the root). EEXIST, EINVAL (the name), ENAMETOOLONG, ESTALE, ENOSPC
 * (too deep), EAGAIN (cgroup.max.descendants of an ancestor), ENOMEM. */
ALLOT_API allot_tenant *allot_tenant_create(allot_tenant *parent, const char *name);

/* The tenant at a path such as "/web/api". ENOENT, EINVAL. */
ALLOT_API allot_tenant *allot_tenant_open(const char *path);

/* What lives in it belongs to its parent from then on, at once and without copying. -EBUSY: it has children, or is the
 * root; -ESTALE: it is gone already. */
ALLOT_API int allot_tenant_destroy(allot_tenant *tenant);

/* Writes to one of its files, such as "memory.max" with "64M". -EINVAL: not a value for that file; -ENOENT: no such
 * file; -EACCES: not one to be written; -ESTALE. A write that fails changes nothing. */
ALLOT_API int allot_tenant_set(allot_tenant *tenant, const char *file, const char *value);

/* Reads one of its files. The length of the whole text, as snprintf: text that did not fit is cut and terminated. */
ALLOT_API ssize_t allot_tenant_get(allot_tenant *tenant, const char *file, char *buffer, size_t size);

/* Bytes in use by the tenant and all below it, without what threads hold in stock; 0 for one that is gone. Exact when
 * no thread is inside an operation. */
ALLOT_API uint64_t allot_tenant_current(allot_tenant *tenant);

/* Charges bytes that come from elsewhere (a mapping, a GPU, a pool) as memory.stat's `external`. 0, or -ENOMEM: they do
 * not fit below the limits, and nothing was charged. */
ALLOT_API int allot_try_charge(allot_tenant *tenant, size_t bytes);

/* Gives such a charge back. More than was charged is clamped, and counted as an anomaly. Of a tenant that has been
 * destroyed meanwhile, the nearest living ancestor is credited, which was given the charge. */
ALLOT_API void allot_uncharge(allot_tenant *tenant, size_t bytes);

/* For code that must go on where a limit has been reached, such as an error path: until the end of the scope each charge
 * of the calling thread may go beyond a level's memory.max by up to its memory.headroom (0 unless set). Scopes nest.
 * After a refusal, the thread's allocations of up to 4 KiB may do so without a scope, until there is room again. */
ALLOT_API void allot_emergency_begin(void);
ALLOT_API void allot_emergency_end(void);

/* What a recount found. */
typedef struct allot_verify_report {
    uint64_t tenants;     /* looked at */
    uint64_t differences; /* 0: everything holds */
    char first[192];      /* the first difference, as a sentence; empty if there is none */
} allot_verify_report;

/* Recounts everything from the objects and compares; no other thread may be inside an operation. 0, or -EUCLEAN. */
ALLOT_API int allot_verify(allot_verify_report *report);

#ifdef __cplusplus
}
#endif

#endif
