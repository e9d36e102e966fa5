/*
 * Tenants: the nodes of the tree that memory is charged to, with cgroup v2's files.
 *
 * They exist so that one process can keep a bill, and a limit, for each of the parties it allocates for. A charge is
 * taken at a tenant and at all its ancestors, or at none.
 *
 * Units: bytes. Sizes in texts are what the command accepts: "64M", "1G500M", "50%" (of the parent's max), "max".
 * Ownership: an allot_tenant * is an index and a generation in a pointer's bits; it is never dereferenced, needs no
 *   freeing, and one of a destroyed tenant is noticed (-ESTALE). NULL is the root's.
 * Threads: every function may be called from any thread.
 * Errors: functions return 0 or a length, or a negative errno; those that return a pointer return NULL and set errno.
 *   Other functions leave errno as it was.
 */
#ifndef ALLOT_TENANT_H
#define ALLOT_TENANT_H

#include <allot/stats.h>

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

/* A name has 1 to 63 bytes, none of them '/' or a newline, and is not "." or "..". A tree is at most this deep below its
 * root. */
#define ALLOT_TENANT_NAME_MAX 63
#define ALLOT_TENANT_DEPTH_MAX 31

/* The root, "/". Never destroyed. NULL with ENOMEM only where not even the tables could be mapped. */
ALLOT_API allot_tenant *allot_root(void);

/* A new tenant without limits below parent (NULL: the root). EEXIST, EINVAL (the name), ENAMETOOLONG, ESTALE, ENOSPC
 * (too deep), EAGAIN (cgroup.max.descendants of an ancestor), ENOMEM. */
ALLOT_API allot_tenant *allot_tenant_create(allot_tenant *parent, const char *name);

/* The tenant at a path such as "/web/api"; "/" is the root's. ENOENT, EINVAL: not a path; ENOMEM. */
ALLOT_API allot_tenant *allot_tenant_open(const char *path);

/* What lives in it belongs to its parent from then on, at once and without copying. -EBUSY: it has children, or is the
 * root; -ESTALE: it is gone already. */
ALLOT_API int allot_tenant_destroy(allot_tenant *tenant);

/*
 * Its files. Those of cgroup v2 have its names and formats; one number or word stands alone with a newline behind it, and
 * of what is written, blanks around it are ignored. What can be written, and is read as it was:
 *
 *   memory.min, .low, .high, .max, .headroom   bytes; written: any size; "max" is none
 *   memory.oom.group      "0" or "1"                         memory.throttle   "0", "1" or "inherit"
 *   memory.oom.policy     "fail", "kill", "abort" or "inherit"
 *   memory.fail           "none"; "N", "N+" or "N-M": such charges of its own fail, counted from 1 at the write;
 *                         "above SIZE": those of more bytes
 *   cgroup.max.descendants   a number, or "max"
 *   cgroup.threads        the ids of threads that work for it, a line each; written: one of them, 0 the caller's, which
 *                         allocates for it from then on. -ESRCH: no such thread
 *   memory.peak           bytes, stocks included; written, whatever it is: the highest usage from now on
 *
 * What can only be written:
 *
 *   memory.reclaim        a size that caches are to give back. -EAGAIN: it was less
 *   cgroup.kill           "1": SIGKILL to the processes that belong to it or below
 *
 * What can only be read:
 *
 *   memory.current        bytes                              memory.pressure   as /proc/pressure/memory; microseconds
 *   memory.events, memory.events.local   a line for each event of allot/events.def: its name, how often
 *   memory.stat, memory.numa_stat        a line for each figure of allot/stats.def, which has the units; by node
 *   cgroup.procs          ids of processes, a line each      cgroup.events   "populated 0" or 1, "frozen 0"
 *   cgroup.stat           nr_descendants, nr_dying_descendants: destroyed ones whose objects live
 */

/* Writes to one of its files, such as "memory.max" with "64M". -EINVAL: not a value for that file; -ENOENT: no such
 * file; -EACCES: not one to be written; -ESTALE; -ENOMEM; and what is said above. A write that fails changes nothing; a
 * reclaim that gave too little has given that. */
ALLOT_API int allot_tenant_set(allot_tenant *tenant, const char *file, const char *value);

/* Reads one of its files. The length of the whole text, as snprintf: text that did not fit is cut and terminated, and of
 * size 0 nothing is written. -ENOENT: no such file; -EACCES: not one to be read; -EINVAL: no buffer; -ESTALE; -ENOMEM. */
ALLOT_API ssize_t allot_tenant_get(allot_tenant *tenant, const char *file, char *buffer, size_t size);

/* Bytes in use by the tenant and all below it, without what threads hold in stock; 0 for one that is gone. Exact when
 * no thread is inside an operation. */
ALLOT_API uint64_t allot_tenant_current(allot_tenant *tenant);

/* Charges bytes that come from elsewhere (a mapping, a GPU, a pool) as memory.stat's `external`. 0; -ENOMEM: they do not
 * fit below the limits; -ESTALE. An error: nothing was charged. */
ALLOT_API int allot_try_charge(allot_tenant *tenant, size_t bytes);

/* Gives such a charge back, by the handle by which it was made, in one piece or in many. More than was charged is clamped,
 * and counted in the root's memory.stat as an anomaly. Of a tenant that has been destroyed meanwhile, the nearest living
 * ancestor is credited, which was given the charge. */
ALLOT_API void allot_uncharge(allot_tenant *tenant, size_t bytes);

/* For code that must go on where a limit has been reached, such as an error path: until the end of the scope each charge
 * of the calling thread may go beyond a level's memory.max by up to its memory.headroom (0 unless set). Scopes nest.
 * After a refusal, the thread's allocations of up to 4 KiB may do so without a scope, until there is room again. */
ALLOT_API void allot_emergency_begin(void);
ALLOT_API void allot_emergency_end(void);

/*
 * The program's own code, which is called when memory is short: shrinkers, and callbacks for events.
 *
 * It is called on the thread whose allocation led to it, or that wrote to a file of the tenant, with no lock of the library
 * held, and several threads may call the same function at once. It may allocate and free and call any allot_ function. It
 * must return, not jump out, and must not wait for a lock that code which allocates may hold: that code may be what is
 * waiting for it. While it runs, its own thread calls no shrinkers and no callbacks, and follows no memory.oom.policy,
 * whatever it allocates. Signal handlers that interrupt the allocator call none either. What events they cause is told
 * with the tenant's next ones, but by event descriptors at once, other than from such a handler.
 *
 * A registration ends with its tenant, or by its id. Ending it waits until no other thread is inside it, so that what it
 * uses can be freed afterwards; only from within a shrinker or a callback it does not wait, since two threads could wait
 * for each other, but takes effect at once. An id is not used again soon: -ESTALE if it has ended, -ENOENT if it never was.
 * A forked child has the shrinkers and callbacks of its parent, not the event descriptors.
 */

/* How many bytes scan could free; 0: none. Called often: it should not walk. */
typedef size_t (*allot_shrinker_count)(void *argument);
/* Frees about that many bytes of the tenant's memory; how many it was, 0: no progress, do not ask again now. */
typedef size_t (*allot_shrinker_scan)(void *argument, size_t bytes);

/* A cache that can give memory back: asked when a charge at the tenant or above would be refused, when memory.high is
 * exceeded, and by memory.reclaim. What memory.min protects is not asked for, what memory.low protects only if nothing
 * else helps. An id, or -EINVAL, -ESTALE, -ENOMEM. */
ALLOT_API int allot_shrinker_register(allot_tenant *tenant, allot_shrinker_count count, allot_shrinker_scan scan,
                                      void *argument);
ALLOT_API int allot_shrinker_unregister(int id);

/* Sets of events, as bits. */
#define ALLOT_EVENT_BIT(event) (1u << (event))

/* count: how often it happened at the tenant and below it since the callback was last told. */
typedef void (*allot_event_callback)(allot_tenant *tenant, enum allot_event event, uint64_t count, void *argument);

/* Calls back for each of these events (ALLOT_EVENT_BIT(allot_event_max) | ...) of the tenant and of those below it. An id,
 * or -EINVAL, -ESTALE, -ENOMEM. */
ALLOT_API int allot_on_event(allot_tenant *tenant, unsigned events, allot_event_callback callback, void *argument);
ALLOT_API int allot_off_event(int id);

/* The same for an event loop: a new eventfd, not blocking and closed on exec, to which the number of such events is added.
 * A negative errno otherwise (-EMFILE, too). The caller ends it by the second function, which closes it. One that is just
 * closed costs a descriptor of the library's own until its number is given out here again or its tenant ends. When the
 * tenant has ended, the number is the caller's alone: to be closed by close(), and to the second function -EBADF. */
ALLOT_API int allot_event_fd(allot_tenant *tenant, unsigned events);
ALLOT_API int allot_event_fd_close(int fd);

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
