// A process is about to forbid itself system calls: from here on none may be made that a usual filter would punish.
//
// Threads: any; called before the filter is in force. Cost: see accounting.
#pragma once

namespace allot {

void seccomp_seen();

} // namespace allot
