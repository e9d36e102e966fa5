// A variant: one build of the allocator, loaded by name, and the functions of it that the benchmarks of the embedded
// allocator call.
//
// It exists because the accounted and the unaccounted allocator are the same names compiled twice: only as two libraries
// can one program choose between them. A call goes through a pointer, as every call into a shared library does.
//
// Threads: load() once, by the main thread, before others are made; the functions are the library's. Owner: the library
//   stays loaded for ever. Invariants: no pointer but those said to be optional is null. Cost: one dlopen.
#pragma once

#include "bench/engine_module.hpp"
#include "bench/experiment.hpp"

#include <cstddef>
#include <string>

struct allot_tenant;

namespace allot::bench {

struct variant {
    void *(*malloc)(std::size_t);
    void (*free)(void *);
    // Optional, null where the build has no tenants.
    allot_tenant *(*set_active)(allot_tenant *);
    allot_tenant *(*tenant_create)(allot_tenant *parent, const char *name);
    int (*tenant_set)(allot_tenant *, const char *file, const char *value);
    int (*tenant_destroy)(allot_tenant *);
    int (*transfer)(void *block, allot_tenant *to);
    engine_counts *count; // of a variant that was loaded with a setting

    // What all threads were counted for so far, while none allocates; nothing where nobody counts.
    [[nodiscard]] counts counted() const;
};

// Whether the build shows all of the functions about tenants.
inline bool has_tenants(const variant &v) {
    return v.set_active != nullptr && v.tenant_create != nullptr && v.tenant_set != nullptr &&
           v.tenant_destroy != nullptr && v.transfer != nullptr;
}

// The same as a demand: exit 77, which a test runner takes for "skipped", with a line on stderr if it has not.
void demand_tenants(const variant &);

// "allot" or "null". Calls fail() where there is no such variant or its library is not beside the benchmarks. The
// accounted one is given a tree of three levels with limits, unless the environment says otherwise.
variant load(const std::string &name);

// For an experiment: "null", "allot" (the same objects, linked so that slow paths are counted) or a variant of the kernel's
// engine, started as the setting says. fail() with the list of names where there is no such variant.
variant load(const std::string &name, const engine_setting &);

} // namespace allot::bench
