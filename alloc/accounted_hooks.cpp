#include "alloc/accounted_hooks.hpp"

#include <limits>

namespace allot {

constinit context accounted_hooks::uncounted_context{
    .net = 0,
    .hi = std::numeric_limits<net_word>::max(),
    .lo = std::numeric_limits<net_word>::min(),
    .obj_cgroup = 0,
    .index = 0,
    .lock = 0,
    .flags = 0,
    .stock = 0,
};

} // namespace allot
