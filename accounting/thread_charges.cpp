#include "accounting/thread_charges.hpp"

#include "accounting/base/mutex.hpp"

#include <limits>

namespace allot {

constinit thread_local thread_charges charges_here{};

bool may_call_user_code() {
    if ((charges_here.flags & in_user_code) != 0 || holds_locks()) return false;
    return charges_here.mode != charge_mode::nowait && charges_here.mode != charge_mode::atomic;
}

// A count that is full stays so until as many ends have come: nobody nests so deep but by mistake.
void emergency_begin() {
    if (charges_here.emergencies != std::numeric_limits<std::uint16_t>::max()) ++charges_here.emergencies;
}
void emergency_end() {
    if (charges_here.emergencies != 0) --charges_here.emergencies;
}

} // namespace allot
