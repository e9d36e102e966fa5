#include "alloc/alloc.hpp"
#include "alloc/arena.hpp"
#include "alloc/gfp.hpp"
#include "alloc/metadata.hpp"
#include "alloc/size_class.hpp"

#include <allot/kmem_cache.h>

#include <bit>
#include <cerrno>
#include <cstring>

using namespace allot;

// What each does, and its errors, is in <allot/kmem_cache.h>.

struct allot_kmem_cache {
    char name[32];
    std::size_t object_bytes;
    std::size_t alignment;
    void (*constructor)(void *);
};

namespace {

constexpr std::size_t hardware_line_bytes = 64;

void *plain_alloc(const allot_kmem_cache &cache, allot_gfp flags) {
    if (cache.alignment <= granule_bytes || !is_gfp(flags)) return allot_kmalloc(cache.object_bytes, flags);
    gfp_scope scope(flags);
    void *object = heap_aligned_alloc(cache.alignment, cache.object_bytes);
    if (object != nullptr && (flags & ALLOT_ZERO) != 0) std::memset(object, 0, cache.object_bytes);
    return object;
}

} // namespace

extern "C" {

allot_kmem_cache *allot_kmem_cache_create(const char *name, size_t size, size_t alignment, allot_kmem_cache_flags flags,
                                          void (*constructor)(void *object)) {
    if (alignment == 0) alignment = granule_bytes;
    bool are_flags = (static_cast<unsigned>(flags) & ~static_cast<unsigned>(ALLOT_CACHE_HWALIGN)) == 0;
    if (name == nullptr || !are_flags || size == 0 || size > arena_max_bytes || alignment > arena_max_bytes ||
        !std::has_single_bit(alignment)) {
        errno = EINVAL;
        return nullptr;
    }
    if ((flags & ALLOT_CACHE_HWALIGN) != 0 && alignment < hardware_line_bytes) alignment = hardware_line_bytes;
    heap_start();
    auto *cache = static_cast<allot_kmem_cache *>(metadata_alloc(sizeof(allot_kmem_cache)));
    if (cache == nullptr) {
        errno = ENOMEM;
        return nullptr;
    }
    std::strncpy(cache->name, name, sizeof cache->name - 1); // the last byte is zero already
    cache->object_bytes = size;
    cache->alignment = alignment;
    cache->constructor = constructor;
    return cache;
}

void *allot_kmem_cache_alloc(allot_kmem_cache *cache, allot_gfp flags) {
    void *object = plain_alloc(*cache, flags);
    if (object != nullptr && cache->constructor != nullptr) cache->constructor(object);
    return object;
}

void allot_kmem_cache_free(allot_kmem_cache *, void *object) { heap_free(object); }

size_t allot_kmem_cache_alloc_bulk(allot_kmem_cache *cache, allot_gfp flags, size_t count, void **objects) {
    for (size_t i = 0; i < count; ++i) {
        objects[i] = allot_kmem_cache_alloc(cache, flags);
        if (objects[i] == nullptr) {
            int error = errno;
            allot_kmem_cache_free_bulk(cache, i, objects);
            errno = error;
            return 0;
        }
    }
    return count;
}

void allot_kmem_cache_free_bulk(allot_kmem_cache *, size_t count, void **objects) {
    for (size_t i = 0; i < count; ++i) heap_free(objects[i]);
}

int allot_kmem_cache_shrink(allot_kmem_cache *) { return heap_trim(0) != 0 ? 0 : 1; }

void allot_kmem_cache_destroy(allot_kmem_cache *cache) {
    if (cache != nullptr) metadata_free(cache, sizeof *cache);
}

const char *allot_kmem_cache_name(const allot_kmem_cache *cache) { return cache->name; }

size_t allot_kmem_cache_slot_size(const allot_kmem_cache *cache) {
    unsigned size_class = cache->object_bytes > medium_max_bytes || cache->alignment > medium_max_bytes
                              ? nr_classes
                              : aligned_class_of(cache->object_bytes, cache->alignment);
    return size_class < nr_classes ? class_bytes(size_class) : (cache->object_bytes + 4095) & ~std::size_t{4095};
}

} // extern "C"
