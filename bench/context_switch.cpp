// context_switch TENANTS SIZE VARIANT: one thread serves TENANTS in turn: it makes the next one active, allocates, touches
// and frees. Claim: there is no cliff, whatever the number of tenants: each has a context of its own on the thread, so
// that a switch gives nothing back and charges nothing anew. An operation is one switch with its pair.
#include "bench/harness.hpp"
#include "bench/variant.hpp"

#include <cstdlib>
#include <memory>

using namespace allot::bench;

namespace {

struct state {
    variant v;
    std::size_t size;
    std::vector<allot_tenant *> tenants; // null where the variant has none: the switch costs a call all the same
};

allot_tenant *stay(allot_tenant *tenant) { return tenant; }

// A tenant of its own for each, all below one parent, each limited.
void make_tenants(state &s, std::uint64_t count) {
    demand_tenants(s.v);
    allot_tenant *parent = s.v.tenant_create(nullptr, "switching");
    for (std::uint64_t i = 0; i < count; ++i) {
        s.tenants[i] = s.v.tenant_create(parent, ("t" + std::to_string(i)).c_str());
        if (s.tenants[i] == nullptr || s.v.tenant_set(s.tenants[i], "memory.max", "1G") != 0)
            fail("cannot create tenant " + std::to_string(i));
    }
}

benchmark make(const arguments &words) {
    auto s = std::make_shared<state>();
    const std::uint64_t count = number(words[0]);
    s->size = number(words[1]);
    s->v = load(words[2]);
    s->tenants.resize(count);
    if (words[2] == "null")
        s->v.set_active = stay;
    else
        make_tenants(*s, count);
    return {.name = join("context_switch", words), .operations_per_round = count, .run = [s](std::uint64_t rounds) {
                for (std::uint64_t i = 0; i < rounds; ++i)
                    for (allot_tenant *tenant : s->tenants) {
                        s->v.set_active(tenant);
                        void *p = s->v.malloc(s->size);
                        touch(p);
                        s->v.free(p);
                    }
            }};
}

} // namespace

int main(int argc, char **argv) { return run(argc, argv, "TENANTS SIZE VARIANT", {"16", "64", "allot"}, make); }
