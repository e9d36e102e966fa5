// Allocations by caller: whom a block is charged to may be decided by the code that asks for it, found by its return address.
//
// It costs nothing where it is not asked for: no fast path knows of it. While a process tells callers apart, thread_here.active
// is a front that has the home's tag and no choice (home::blank): frees are as fast as ever, and each malloc takes its slow
// path, to which the exported names of malloc and its kin hand their return addresses (caller_misses, fast_path.hpp).
//
// Who an address belongs to is somebody else's knowledge (caller_rules), asked once for each call site of a thread: answers are
// remembered until the set of loaded libraries may have changed.
//
// Threads: any. Owner: a thread's answers live as long as its home. Invariants: 1. Rules are set once, before there are other
//   threads, or these do not see them until they next change their tenant. 2. A caller's tenant is this one call's: with the call
//   ends its work for it. 3. An unaccounted scope is stronger than a rule: the thread has said so itself.
// Cost: off: a comparison on malloc's slow path. On: README.md of preload/.
#pragma once

#include "alloc/heap.hpp"

namespace allot {

inline constexpr bool can_tell_callers = hooks::accounted;

struct caller_rules {
    // The number of the rule for code at an address, from 1 on; 0: none. asked_by_loader: what has been answered so far may be
    // wrong from now on, since addresses get other owners. Called in slow paths: it takes no lock and allocates nothing.
    std::uint32_t (*rule_of)(const void *address);
    allot_tenant *const *tenants; // by number less 1; handles
};
inline constexpr std::uint32_t asked_by_loader = ~std::uint32_t{0};

// Written once; read by every slow path of malloc. relaxed: what it leads to was written before, and a thread that does not
// see it yet allocates as if it were not there.
[[gnu::visibility("hidden")]] extern const caller_rules *callers_told_apart;

inline bool callers_matter() {
    if constexpr (can_tell_callers)
        return read_shared(callers_told_apart) != nullptr;
    else
        return false;
}

// From now on, at once for this thread. The rules live for ever.
void heap_set_callers(const caller_rules *);

// Whom a call from this address is charged to; nullptr: whom the thread works for.
[[nodiscard]] allot_tenant *tenant_of_caller(const void *caller);

// What a thread has been told; lies beside its home.
struct caller_answers {
    static constexpr unsigned nr_answers = 64;
    std::uint32_t of_libraries = 0;         // which set of loaded libraries
    std::uint64_t answers[nr_answers] = {}; // address, and above its 48 bits the number of the rule; 0: none yet
};

// malloc and its kin as called from an address, after their fast path has found nothing.
[[nodiscard]] void *malloc_for_caller(std::size_t size, const void *caller);
[[nodiscard]] void *calloc_for_caller(std::size_t count, std::size_t size, const void *caller);
[[nodiscard]] void *realloc_for_caller(void *p, std::size_t size, const void *caller);
[[nodiscard]] void *move_for_caller(void *p, std::size_t was, std::size_t size, const void *caller);
[[nodiscard]] void *aligned_alloc_for_caller(std::size_t alignment, std::size_t size, const void *caller);

// What the fast path would do, for whom the thread works. nullptr: that cannot be, or callers are not told apart.
[[nodiscard]] inline void *callers_fast_malloc(home *h, std::size_t size) {
    if constexpr (can_tell_callers)
        if (callers_matter() && thread_here.farewells == 0) [[unlikely]]
            return malloc_from_choice(h->current, size);
    return nullptr;
}

// While it lives, this thread works for the tenant of a caller, if that has one.
class caller_scope {
public:
    explicit caller_scope(const void *caller) {
        if (callers_matter()) [[unlikely]]
            begin(tenant_of_caller(caller));
    }
    ~caller_scope() {
        if (is_on_) [[unlikely]]
            end();
    }
    caller_scope(const caller_scope &) = delete;
    caller_scope &operator=(const caller_scope &) = delete;

private:
    void begin(allot_tenant *);
    void end();

    bool is_on_ = false;
    allot_tenant *before_ = nullptr;
};

} // namespace allot
