// A plugin that allocates by every name there is. Its host knows whom that is to be charged to.
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

extern void *_Znwm(size_t); // operator new, of whoever has it

static void *at_start;
__attribute__((constructor)) static void plugin_begins(void) { at_start = malloc(5000); }
__attribute__((destructor)) static void plugin_ends(void) { free(at_start); }

// The result is kept for a moment, so that each is a call and no jump: a jump leaves the caller's address, not ours.
static void *called(void *p) {
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}
void *plugin_malloc(size_t size) { return called(malloc(size)); }
void *plugin_calloc(size_t size) { return called(calloc(1, size)); }
void *plugin_realloc(void *p, size_t size) { return called(realloc(p, size)); }
void *plugin_aligned(size_t size) { return called(aligned_alloc(128, size)); }
void *plugin_posix(size_t size) {
    void *p = NULL;
    return called(posix_memalign(&p, 64, size) == 0 ? p : NULL);
}
void *plugin_new(size_t size) { return called(_Znwm(size)); }
void *plugin_strdup(const char *text) { return called(strdup(text)); }
void *plugin_map(size_t size) {
    return called(mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}
