// Listeners: callbacks and event descriptors that are told of a tenant's events, and of those below it.
//
// They exist so that a program learns of pressure when it happens, where the kernel's users poll a file: by a function
// that the thread calls whose charge caused the event, or by an eventfd in an event loop.
//
// An event is counted at once, wherever it happens; it is delivered by the thread that caused it once that holds no lock
// and is amid nothing (settle.hpp). What is delivered is how often it has been counted since the last delivery: several at
// once may be one call, and none is lost. A thread that is in user code, or whose charge is in a hurry, tells descriptors
// alone, and one in a signal handler amid our own code tells nobody: the next delivery for that tenant makes up for it.
//
// Threads: any that holds no lock. Callbacks of several threads may run at once.
// Owner: registrations.hpp.
// Invariants: 1. Each event that is counted at a tenant or below it after the registration is told once.
//             2. A callback is called without any lock, and not on a thread that is in user code already.
// Cost: nothing in a program without listeners; else a look-up for each level of who caused one.
#pragma once

#include "accounting/registrations.hpp"

#include <cstdint>

namespace allot {

inline constexpr std::uint32_t all_events = (std::uint32_t{1} << allot_nr_events) - 1;

// As the C API.
[[nodiscard]] int listener_add(allot_tenant *tenant, std::uint32_t events, allot_event_callback callback,
                               void *argument);
[[nodiscard]] inline int listener_remove(int id) { return registration_remove(id, registration_kind::callback); }
[[nodiscard]] int event_descriptor_add(allot_tenant *tenant, std::uint32_t events);
[[nodiscard]] int event_descriptor_remove(int descriptor);

// Tells the listeners of a tenant and its ancestors what has been counted since they were told last; only descriptors
// where user code may not be called.
void deliver_events(allot_tenant *from);

} // namespace allot
