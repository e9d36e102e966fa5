// The report of this process alone, from its own books, as allot run gives it for one program image.
//
// It exists for a preload without the command: then nobody else can read the books, and they end with the process.
//
// Threads: any one; others may go on, each row is a moment's. Owner: the caller.
// Invariants: 1. Nothing is allocated but one mapping for the order of the rows; without it they come as they were made.
// Cost: for each tenant a walk over its subtree; sorts the tenants.
#pragma once

#include "accounting/text_sink.hpp"

#include <cstddef>
#include <cstdint>

namespace allot {

enum class report_form : std::uint32_t { text, json };

struct own_report {
    report_form form;
    const char *command; // words, each terminated
    std::size_t command_bytes;
    int status;
};

// Also where accounting could not start: that is what the report then says. Flushes the sink.
void write_own_report(text_sink &, const own_report &);

} // namespace allot
