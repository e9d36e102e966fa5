// Which hooks this build of the allocator is bound to. The same sources are compiled for each: for accounting, for nothing
// (ALLOT_NULL_HOOKS), or for hooks that a build above names, a header and a type: so alloc/ names nobody above it.
#pragma once

#if defined(ALLOT_HOOKS_HEADER)
#include ALLOT_HOOKS_HEADER
namespace allot {
using hooks = ALLOT_HOOKS;
}
#elif defined(ALLOT_NULL_HOOKS)
#include "alloc/object_hooks.hpp"
namespace allot {
using hooks = null_hooks;
}
#else
#define ALLOT_ACCOUNTED_HOOKS
#include "alloc/accounted_hooks.hpp"
namespace allot {
using hooks = accounted_hooks;
}
#endif
