// What programs ask malloc about itself: mallinfo, mallinfo2, malloc_stats, malloc_info, malloc_trim, mallopt.
//
// They exist together because libc's would describe its own idle heap. Words of glibc that have no counterpart here are
// filled with what is nearest: an "arena" is all that the allocator has mapped for small blocks, "mmap" stands for blocks
// that have pages to themselves.
//
// Threads: any; no lock is held while anything is printed, so that a blocked or cancelled printer stops nobody.
// Cost: a walk over all slab headers.
#include "alloc/alloc.hpp"
#include "preload/export.hpp"

#include <cerrno>
#include <cstdio>
#include <malloc.h>
#include <pthread.h>

namespace {

// The figures in glibc's words.
struct figures {
    std::size_t arena_bytes; // mapped for blocks below the size that has pages to itself, and for their headers
    std::size_t arena_used;
    std::size_t large_bytes;
    std::size_t large_count;
    std::size_t cached_bytes;

    std::size_t arena_free() const { return arena_bytes - arena_used; }
};

figures figures_now() {
    const allot::heap_statistics now = allot::heap_statistics_get();
    const std::size_t used = now.live_bytes - now.large_bytes;
    const std::size_t mapped = now.mapped_bytes + now.metadata_bytes;
    std::size_t arena = mapped > now.large_bytes ? mapped - now.large_bytes : 0;
    if (arena < used) arena = used; // a snapshot taken while others allocate
    return {arena, used, now.large_bytes, now.large_objects, now.cached_bytes};
}

} // namespace

extern "C" {

ALLOT_EXPORT struct mallinfo2 mallinfo2() noexcept {
    const figures now = figures_now();
    struct mallinfo2 answer {};
    answer.arena = now.arena_bytes;
    answer.ordblks = now.arena_free() ? 1 : 0; // free memory is not counted in pieces
    answer.hblks = now.large_count;
    answer.hblkhd = now.large_bytes;
    answer.uordblks = now.arena_used;
    answer.fordblks = now.arena_free();
    answer.keepcost = now.cached_bytes;
    return answer;
}

// Its fields are ints, and wrap for big heaps; that is why mallinfo2 exists.
ALLOT_EXPORT struct mallinfo mallinfo() noexcept {
    const struct mallinfo2 wide = mallinfo2();
    struct mallinfo answer {};
    answer.arena = static_cast<int>(wide.arena);
    answer.ordblks = static_cast<int>(wide.ordblks);
    answer.hblks = static_cast<int>(wide.hblks);
    answer.hblkhd = static_cast<int>(wide.hblkhd);
    answer.uordblks = static_cast<int>(wide.uordblks);
    answer.fordblks = static_cast<int>(wide.fordblks);
    answer.keepcost = static_cast<int>(wide.keepcost);
    return answer;
}

ALLOT_EXPORT void malloc_stats() noexcept {
    const figures now = figures_now();
    char text[512];
    std::snprintf(
        text, sizeof text,
        "Arena 0:\nsystem bytes     = %10zu\nin use bytes     = %10zu\nTotal (incl. mmap):\n"
        "system bytes     = %10zu\nin use bytes     = %10zu\nmax mmap regions = %10zu\nmax mmap bytes   = %10zu\n",
        now.arena_bytes, now.arena_used, now.arena_bytes + now.large_bytes, now.arena_used + now.large_bytes,
        now.large_count, now.large_bytes);
    // glibc's is not a cancellation point either.
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    std::fputs(text, stderr);
    pthread_setcancelstate(before, nullptr);
}

ALLOT_EXPORT int malloc_info(int options, FILE *file) noexcept {
    if (options != 0) return EINVAL;
    const figures now = figures_now();
    char body[768];
    std::snprintf(body, sizeof body,
                  "<total type=\"fast\" count=\"0\" size=\"0\"/>\n<total type=\"rest\" count=\"%d\" size=\"%zu\"/>\n"
                  "<system type=\"current\" size=\"%zu\"/>\n<system type=\"max\" size=\"%zu\"/>\n"
                  "<aspace type=\"total\" size=\"%zu\"/>\n<aspace type=\"mprotect\" size=\"%zu\"/>\n",
                  now.arena_free() ? 1 : 0, now.arena_free(), now.arena_bytes, now.arena_bytes, now.arena_bytes,
                  now.arena_bytes);
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    std::fprintf(file, "<malloc version=\"1\">\n<heap nr=\"0\">\n<sizes>\n</sizes>\n%s</heap>\n", body);
    std::fprintf(file, "<total type=\"mmap\" count=\"%zu\" size=\"%zu\"/>\n%s</malloc>\n", now.large_count,
                 now.large_bytes, body);
    pthread_setcancelstate(before, nullptr);
    return 0;
}

ALLOT_EXPORT int malloc_trim(size_t pad) noexcept { return allot::heap_trim(pad) != 0; }

// Every parameter is accepted, though none applies here. glibc refuses one value, and so is it here.
ALLOT_EXPORT int mallopt(int parameter, int value) noexcept {
    constexpr int mxfast_max = 160;
    return parameter != M_MXFAST || (value >= 0 && value <= mxfast_max);
}

} // extern "C"
