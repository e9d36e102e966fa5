#include "preload/next_symbol.hpp"

#include <dlfcn.h>

namespace allot {

void *next_symbol::search() {
    void *found = dlsym(RTLD_NEXT, name_);
    found_.store(found, std::memory_order_relaxed);
    return found;
}

} // namespace allot
