// Scopes in which this thread allocates for somebody else.
//
// Threads: one; scopes nest. Another thread's request to move this one waits until an active_scope ends: what is allocated
//   within is for the scope's tenant, and what was asked for is not undone by the scope's end.
#pragma once

#include "alloc/active.hpp"
#include "alloc/alloc.hpp"

namespace allot {

class active_scope {
public:
    explicit active_scope(allot_tenant *tenant) {
        heap_moves_wait_begin();
        before_ = heap_set_active(tenant);
    }
    ~active_scope() {
        heap_set_active(before_);
        heap_moves_wait_end();
    }
    active_scope(const active_scope &) = delete;
    active_scope &operator=(const active_scope &) = delete;

private:
    allot_tenant *before_;
};

// Charged to the root's own line, if wanted.
class unaccounted_scope {
public:
    explicit unaccounted_scope(bool wanted) : wanted_(wanted) {
        if (wanted_) [[unlikely]]
            heap_unaccounted_begin();
    }
    ~unaccounted_scope() {
        if (wanted_) [[unlikely]]
            heap_unaccounted_end();
    }
    unaccounted_scope(const unaccounted_scope &) = delete;
    unaccounted_scope &operator=(const unaccounted_scope &) = delete;

private:
    bool wanted_;
};

} // namespace allot
