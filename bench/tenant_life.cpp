// tenant_life USE: creates a tenant and destroys it. USE is `unused` (nothing else), `used` (this thread has it active and
// allocates and frees one object in between) or `left` (it leaves one object behind, which its parent inherits). Claim: a
// tenant costs microseconds, so that one can be had for each request. An operation is one tenant's life.
#include "bench/harness.hpp"
#include "bench/variant.hpp"

#include <memory>

using namespace allot::bench;

namespace {

enum class use { unused, used, left };

struct state {
    variant v;
    use how;
    allot_tenant *parent;
    std::vector<void *> left_behind; // freed at the end of each slice, so that a long run does not grow
};

void live_once(state &s) {
    allot_tenant *tenant = s.v.tenant_create(s.parent, "brief");
    if (tenant == nullptr) fail("allot_tenant_create refused");
    if (s.how != use::unused) {
        allot_tenant *before = s.v.set_active(tenant);
        void *p = s.v.malloc(64);
        touch(p);
        if (s.how == use::left)
            s.left_behind.push_back(p);
        else
            s.v.free(p);
        s.v.set_active(before);
    }
    if (s.v.tenant_destroy(tenant) != 0) fail("allot_tenant_destroy refused");
}

benchmark make(const arguments &words) {
    auto s = std::make_shared<state>();
    if (words[0] != "unused" && words[0] != "used" && words[0] != "left")
        fail("USE \"" + words[0] + "\": expected unused, used or left");
    s->how = words[0] == "unused" ? use::unused : words[0] == "used" ? use::used : use::left;
    s->v = load("allot");
    demand_tenants(s->v);
    s->parent = s->v.tenant_create(nullptr, "lives");
    return {.name = join("tenant_life", words), .operations_per_round = 1, .run = [s](std::uint64_t rounds) {
                for (std::uint64_t i = 0; i < rounds; ++i) live_once(*s);
                for (void *p : s->left_behind) s->v.free(p);
                s->left_behind.clear();
            }};
}

} // namespace

int main(int argc, char **argv) { return run(argc, argv, "unused|used|left", {"used"}, make); }
