// Every operator new with every operator delete and with free: none crosses allocators. By their mangled names, since a
// program in C reaches them too.
#include "expect.h"
#include <dlfcn.h>
#include <malloc.h>

static const struct {
    const char *name;
    int aligned, sized;
} news[] =
    {
        {"_Znwm", 0, 0},
        {"_Znam", 0, 0},
        {"_ZnwmRKSt9nothrow_t", 0, 0},
        {"_ZnamRKSt9nothrow_t", 0, 0},
        {"_ZnwmSt11align_val_t", 1, 0},
        {"_ZnamSt11align_val_t", 1, 0},
        {"_ZnwmSt11align_val_tRKSt9nothrow_t", 1, 0},
        {"_ZnamSt11align_val_tRKSt9nothrow_t", 1, 0},
},
  deletes[] = {
      {"_ZdlPv", 0, 0},
      {"_ZdaPv", 0, 0},
      {"_ZdlPvRKSt9nothrow_t", 0, 0},
      {"_ZdaPvRKSt9nothrow_t", 0, 0},
      {"_ZdlPvm", 0, 1},
      {"_ZdaPvm", 0, 1},
      {"_ZdlPvSt11align_val_t", 1, 0},
      {"_ZdaPvSt11align_val_t", 1, 0},
      {"_ZdlPvmSt11align_val_t", 1, 1},
      {"_ZdaPvmSt11align_val_t", 1, 1},
      {"_ZdlPvSt11align_val_tRKSt9nothrow_t", 1, 0},
      {"_ZdaPvSt11align_val_tRKSt9nothrow_t", 1, 0},
      {"free", 0, 0},
};
int main(void) {
    static const char nothrow = 0;
    for (size_t n = 0; n < sizeof news / sizeof *news; ++n)
        for (size_t d = 0; d < sizeof deletes / sizeof *deletes; ++d)
            for (size_t size = 1; size < 2u << 20; size = size * 9 + 5) {
                void *(*make)(size_t, uintptr_t, const void *) =
                    (void *(*)(size_t, uintptr_t, const void *))dlsym(RTLD_DEFAULT, news[n].name);
                void (*end)(void *, uintptr_t, uintptr_t) =
                    (void (*)(void *, uintptr_t, uintptr_t))dlsym(RTLD_DEFAULT, deletes[d].name);
                if (!make || !end) {
                    puts(make ? deletes[d].name : news[n].name);
                    return 1;
                }
                void *p = make(size, news[n].aligned ? 64 : (uintptr_t)&nothrow, &nothrow);
                expect(p && (!news[n].aligned || (uintptr_t)p % 64 == 0));
                memset(p, 1, malloc_usable_size(p));
                if (deletes[d].sized)
                    end(p, size, 64);
                else
                    end(p, deletes[d].aligned ? 64 : (uintptr_t)&nothrow, (uintptr_t)&nothrow);
            }
}
