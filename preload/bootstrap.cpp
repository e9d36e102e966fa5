// The library's beginning and end in a program. Everything works before and after too: the first allocation starts what
// it needs, and nothing is ever torn down.
#include "alloc/alloc.hpp"
#include "preload/foreign.hpp"

#ifndef ALLOT_NULL_HOOKS
#include "accounting/accounting.hpp"
#include "accounting/options.hpp"
#include "preload/exit_report.hpp"
#include "preload/library_rules.hpp"
#include "preload/threads.hpp"
#endif

#ifndef ALLOT_NULL_HOOKS
#include <pthread.h>
#endif

namespace {

// Of all constructors the first (-z initfirst), libc's own included, which is why the environment comes as an argument:
// libc does not know it yet. membarrier is registered while there is one thread, when that is quick; the first thread
// gets its tenant by its rules.
[[gnu::constructor(101)]] void library_begins([[maybe_unused]] int count, [[maybe_unused]] char **arguments,
                                              [[maybe_unused]] char **environment) {
#ifndef ALLOT_NULL_HOOKS
    allot::options_set_environment(environment);
#endif
    allot::foreign_start();
    allot::heap_start();
#ifndef ALLOT_NULL_HOOKS
    allot::threads_start();
    allot::library_rules_start();
    allot::exit_report_prepare();
    // Else a child finds out at its first call what it is. One of a shared hierarchy is to be known before its parent, who pays
    // for what it holds, may end: daemons begin so.
    (void)pthread_atfork(allot::accounting_before_fork, nullptr, [] {
        if (allot::accounting_after_fork()) allot::heap_after_fork();
    });
#endif
}

#ifndef ALLOT_NULL_HOOKS
[[gnu::destructor(101)]] void library_ends() { allot::accounting_finish(); }
#endif

} // namespace
