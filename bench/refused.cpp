// refused NEIGHBOUR: a tenant works beside another one below the same limited parent. NEIGHBOUR is `spins` (computes and
// allocates nothing), `refused` (stands at its limit and is refused as often as it can be) or a number (is refused that many
// times a second, and computes in between). Claim: a tenant at its limit costs its neighbour nothing but the processor.
// An operation is one allocation and its free in batches of 1000 of 1 KiB, so that one in 256 goes to the shared parent. On
// stderr: how many refusals a second there were.
#include "bench/crew.hpp"
#include "bench/harness.hpp"
#include "bench/variant.hpp"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>

using namespace allot::bench;

namespace {

constexpr std::size_t object_bytes = 1024, batch_objects = 1000;

class neighbour {
public:
    neighbour(const variant &v, allot_tenant *tenant, std::uint64_t per_second)
        : v_{v}, tenant_{tenant}, per_second_{per_second}, thread_{[this] { work(); }} {}
    ~neighbour() {
        stopping_ = true;
        thread_.join();
        const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin_;
        std::fprintf(stderr, "%.0f refusals a second\n", static_cast<double>(refusals_) / time.count());
    }
    neighbour(const neighbour &) = delete;
    neighbour &operator=(const neighbour &) = delete;

private:
    void work() {
        pin_to_nth_cpu(1);
        v_.set_active(tenant_);
        while (!stopping_) {
            if (per_second_ != 0 && is_due() && v_.malloc(object_bytes) == nullptr) ++refusals_;
        }
    }
    // Until its limit is reached it is not refused: those few objects stay.
    bool is_due() const {
        const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin_;
        return static_cast<double>(refusals_) <= time.count() * static_cast<double>(per_second_);
    }

    const variant v_;
    allot_tenant *const tenant_;
    const std::uint64_t per_second_; // 0: none
    std::uint64_t refusals_ = 0;     // of the thread alone, until it is joined
    const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    std::atomic<bool> stopping_{false}; // written by the destructor; relaxed would do
    std::thread thread_;                // last: it uses all of the above
};

struct state {
    variant v;
    allot_tenant *tenant = nullptr;
    std::unique_ptr<neighbour> beside;
    std::vector<void *> batch = std::vector<void *>(batch_objects);
};

allot_tenant *limited(const variant &v, allot_tenant *parent, const char *name, const char *max) {
    allot_tenant *tenant = v.tenant_create(parent, name);
    if (tenant == nullptr || v.tenant_set(tenant, "memory.max", max) != 0) fail("cannot create a tenant");
    return tenant;
}

void work(state &s, std::uint64_t rounds) {
    s.v.set_active(s.tenant);
    for (std::uint64_t i = 0; i < rounds; ++i) {
        for (void *&p : s.batch) {
            p = s.v.malloc(object_bytes);
            touch(p);
        }
        for (void *p : s.batch) s.v.free(p);
    }
}

benchmark make(const arguments &words) {
    constexpr std::uint64_t as_often_as_can_be = 1'000'000'000;
    const std::uint64_t per_second = words[0] == "spins"     ? 0
                                     : words[0] == "refused" ? as_often_as_can_be
                                                             : number(words[0]);
    auto s = std::make_shared<state>();
    s->v = load("allot");
    demand_tenants(s->v);
    allot_tenant *parent = limited(s->v, nullptr, "both", "1G");
    s->tenant = limited(s->v, parent, "works", "512M");
    s->beside = std::make_unique<neighbour>(s->v, limited(s->v, parent, "full", "1M"), per_second);
    return {.name = join("refused", words), .operations_per_round = batch_objects, .run = [s](std::uint64_t rounds) {
                work(*s, rounds);
            }};
}

} // namespace

int main(int argc, char **argv) { return run(argc, argv, "spins|refused|PER_SECOND", {"refused"}, make); }
