// Which hooks this build of the allocator is bound to. The same sources are compiled twice.
#pragma once

#ifdef ALLOT_NULL_HOOKS
#include "alloc/object_hooks.hpp"
namespace allot {
using hooks = null_hooks;
}
#else
#include "alloc/accounted_hooks.hpp"
namespace allot {
using hooks = accounted_hooks;
}
#endif
