#include "alloc/switches.hpp"

#include "alloc/fork.hpp"
#include "alloc/metadata.hpp"

#include <cstring>
#include <new>

namespace allot {

namespace {

switch_entry *entry_of(home *h, allot_tenant *tenant) {
    if (h->switches == nullptr) return nullptr;
    for (switch_entry *e = h->switches->set_of(tenant), *end = e + switch_table::nr_ways; e != end; ++e)
        if (e->tenant == tenant) return e;
    return nullptr;
}

switch_table *new_table() {
    void *memory = wiped_alloc(sizeof(switch_table));
    if (memory == nullptr) return nullptr;
    // In a child, what was interrupted by the handler that forked may have written there.
    if (process_generation() != 1) std::memset(memory, 0, sizeof(switch_table));
    return new (memory) switch_table;
}

void forget(switch_entry &e) {
    if (heap *of = e.of) of->known_as = nullptr;
    e = {};
}

} // namespace

heap *switches_find(home *h, allot_tenant *tenant) {
    switch_entry *e = entry_of(h, tenant);
    if (e == nullptr) return nullptr;
    std::uint64_t ended = hooks::tenants_ended(); // before the generation
    heap *of = e->of;
    if (of == nullptr || !hooks::heap_serves(of->account, tenant)) return nullptr;
    e->ended = ended;
    return of;
}

void switches_remember(home *h, allot_tenant *tenant, heap *of, std::uint64_t ended) {
    if (h->switches == nullptr) h->switches = new_table();
    if (h->switches == nullptr) return;
    switches_forget(h, of);
    switch_entry *e = h->switches->set_of(tenant);
    forget(e[1]);
    e[1] = e[0];
    e[0] = {tenant, of->front, of, ended};
    of->known_as = tenant;
}

void switches_forget(home *h, heap *of) {
    if (of->known_as == nullptr) return;
    if (switch_entry *e = entry_of(h, of->known_as)) forget(*e);
    of->known_as = nullptr;
}

} // namespace allot
