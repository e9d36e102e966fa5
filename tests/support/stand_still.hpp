// A signal handler in which a thread stands still, wherever it was, as a collector stops threads.
#pragma once

#include "accounting/base/os.hpp"

#include <atomic>

inline std::atomic<bool> is_stopped, may_go;
inline void stand_still(int) {
    is_stopped = true;
    while (!may_go) allot::os_pause();
    is_stopped = false;
}
