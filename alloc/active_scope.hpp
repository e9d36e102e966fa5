// Scopes in which this thread allocates for somebody else.
//
// Threads: one; scopes nest.
#pragma once

#include "alloc/alloc.hpp"

namespace allot {

class active_scope {
public:
    explicit active_scope(allot_tenant *tenant) : before_(heap_set_active(tenant)) {}
    ~active_scope() { heap_set_active(before_); }
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
