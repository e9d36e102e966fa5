// The report of a preloaded program at its end, for ALLOT_REPORT without the command.
//
// It exists because a program that is started without `allot run` has nobody else who could read its books. It is
// registered with on_exit before anything of the program runs, and so called after all of it, destructors included, and
// with the exit status.
//
// Threads: exit_report_prepare() once, by the library's constructor. Owner: the process; children of fork inherit it, and
//   each that passes by exit() reports by itself.
// Invariants: 1. Under a hierarchy nothing is written: the command reports for all.
//             2. Nothing is written but to the file that was asked for, or to what was standard error at the start:
//                programs close theirs before the end, and some give its number to a file of their own.
//             3. A report that cannot be written changes neither the exit status nor raises a signal.
// Cost: nothing unless asked for; then one more descriptor, of a high number, where the report goes to standard error.
#pragma once

namespace allot {

void exit_report_prepare();

} // namespace allot
