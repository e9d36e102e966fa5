#include "alloc/fork.hpp"

#include "accounting/base/os.hpp"
#include "alloc/active.hpp"
#include "alloc/adopt.hpp"
#include "alloc/binding.hpp"
#include "alloc/large.hpp"
#include "alloc/metadata.hpp"
#include "alloc/page_source.hpp"
#include "alloc/thread_moves.hpp"

namespace allot {

constinit std::uint32_t generation_here = 1;

void fork_repair() {
    signals_blocked quiet; // a handler would repair again
    if (forked_since_start()) fork_begin_anew();
}

void fork_begin_anew() {
    generation_here++;
    metadata_child_start();
    units_child_start();
    large_child_start();
    adopt_child_start();
    thread_child_start();
    active_child_start();
    thread_moves_child_start();
    write_shared(thread_here.active, &front_of_nobody);
    thread_here.in_home = nullptr;
    thread_here.switches = nullptr;
    hooks::child_start();
}

} // namespace allot
