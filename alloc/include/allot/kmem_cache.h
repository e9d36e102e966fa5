/*
 * Caches of objects of one kind, in the way of the kernel's kmem_cache.
 *
 * They exist so that code written for slabs finds them: one size and alignment given once, objects constructed, whole
 * arrays allocated and freed in one call. Objects come from the same slabs as everything else of their size, so a cache
 * that nobody uses holds nothing.
 *
 * Units: bytes. Charged, to the active tenant: the slot an object takes, see allot_usable_size.
 * Ownership: the caller frees every object with the cache's own functions or allot_free, then destroys the cache.
 * Threads: every function may be called from any thread; destroy only when nobody uses the cache.
 * Errors: NULL with errno ENOMEM or EINVAL; bulk allocation gives all objects or none.
 */
#ifndef ALLOT_KMEM_CACHE_H
#define ALLOT_KMEM_CACHE_H

#include <allot/alloc.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct allot_kmem_cache allot_kmem_cache;

typedef enum allot_kmem_cache_flags {
    ALLOT_CACHE_DEFAULT = 0,
    ALLOT_CACHE_HWALIGN = 1 << 0,      /* aligned to cache lines of 64 bytes at least */
    ALLOT_CACHE_NONE = -0x7fffffff - 1 /* not a flag, as ALLOT_GFP_NONE */
} allot_kmem_cache_flags;

/* name: kept by copy, at most 31 bytes are. alignment: 0 or a power of two. constructor: NULL, or called on every object
 * that the cache hands out, in the thread that asked, with no lock held; what it allocates is charged as usual. (The kernel
 * constructs a slot once, when its slab is made, and wants objects freed in that state. Here slots go back to all
 * users of their size, so each object is constructed anew, and nothing is asked of freed ones.)
 * EINVAL: no name, size 0, a bad alignment, other flags, or more than any block can have. */
ALLOT_API allot_kmem_cache *allot_kmem_cache_create(const char *name, size_t size, size_t alignment,
                                                    allot_kmem_cache_flags flags, void (*constructor)(void *object));
ALLOT_API void *allot_kmem_cache_alloc(allot_kmem_cache *cache, allot_gfp flags);
ALLOT_API void allot_kmem_cache_free(allot_kmem_cache *cache, void *object);

/* Fills objects[0 … count) and returns count, or fills nothing and returns 0. */
ALLOT_API size_t allot_kmem_cache_alloc_bulk(allot_kmem_cache *cache, allot_gfp flags, size_t count, void **objects);
ALLOT_API void allot_kmem_cache_free_bulk(allot_kmem_cache *cache, size_t count, void **objects);

/* Gives wholly free slabs of this thread back to the system. 0 if anything was given back, else 1 (as the kernel). */
ALLOT_API int allot_kmem_cache_shrink(allot_kmem_cache *cache);
ALLOT_API void allot_kmem_cache_destroy(allot_kmem_cache *cache); /* NULL is fine */

/* For reports: the name, and the bytes a slot of the cache takes. */
ALLOT_API const char *allot_kmem_cache_name(const allot_kmem_cache *cache);
ALLOT_API size_t allot_kmem_cache_slot_size(const allot_kmem_cache *cache);

#ifdef __cplusplus
}
#endif

#endif
