#define BOOST_TEST_MODULE reclaim
#include <boost/test/unit_test.hpp>

#include "accounting/reclaim.hpp"

#include "accounting/listeners.hpp"
#include "accounting/thread_charges.hpp"
#include "tests/support/cache.hpp"
#include "tests/support/verified.hpp"

#include <atomic>
#include <cerrno>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace allot;

namespace {

constexpr std::uint64_t KiB = 1024, MiB = KiB * 1024;

// Bytes beside caches.
struct filler {
    std::uint32_t owner;
    std::uint64_t bytes = 0;
    explicit filler(allot_tenant *t) : owner(obj_cgroup_get(t)) {}
    ~filler() {
        uncharge_bytes(owner, bytes, charge_kind::external);
        obj_cgroup_put(owner);
    }
    filler(const filler &) = delete;
    filler &operator=(const filler &) = delete;
    bool charge(std::uint64_t more) {
        if (!charge_bytes(owner, more, charge_kind::external)) return false;
        bytes += more;
        return true;
    }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(where_no_shrinker_is_registered_nothing_is_given_back, verified) {
    BOOST_TEST((reclaim_for_refusal(obj_cgroup_of(top), top, 4096) == given::nobody_asked));
    reclaim_for_high(obj_cgroup_of(top));
    BOOST_TEST(reclaim(top, 4096) == 0u);
}

// --- what does not fit ------------------------------------------------------------------------------------------------

BOOST_FIXTURE_TEST_CASE(what_does_not_fit_makes_caches_of_the_level_give_way, verified) {
    BOOST_TEST(tenant_set(top, "memory.max", "8M") == 0);
    cache c(make("/case/cache"), 6 * MiB), beside(make("/case/beside"), 0);
    filler f(make("/case/a"));
    for (int i = 0; i < 28; ++i) BOOST_TEST_REQUIRE(f.charge(256 * KiB), i);
    BOOST_TEST(c.bytes() <= 1 * MiB);
    BOOST_TEST(keyed(top, "memory.events.local", "max") > 0u);
    BOOST_TEST(keyed(top, "memory.events.local", "oom") == 0u);
    BOOST_TEST(!f.charge(2 * MiB)); // more than all caches together
    BOOST_TEST(keyed(top, "memory.events.local", "oom") == 1u);
    BOOST_TEST(keyed(c.tenant(), "memory.stat", "reclaimed") >= 5 * MiB);
    BOOST_TEST(keyed(top, "memory.stat", "reclaimed") == keyed(c.tenant(), "memory.stat", "reclaimed"));
    BOOST_TEST(get(top, "memory.pressure").find("total=0\nfull") == std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(a_context_that_is_refused_asks_too, verified) {
    BOOST_TEST(tenant_set(top, "memory.max", "2M") == 0);
    cache c(make("/case/cache"), 2 * MiB - 64 * KiB);
    context *ctx = context_open(obj_cgroup_of(make("/case/a")));
    for (int i = 0; i < 16; ++i) BOOST_TEST_REQUIRE(charge(ctx, 64 * KiB));
    BOOST_TEST(c.bytes() <= MiB);
    for (int i = 0; i < 16; ++i) uncharge(ctx, 64 * KiB);
    context_close(ctx);
}

BOOST_FIXTURE_TEST_CASE(caches_beside_the_level_are_left_alone, verified) {
    allot_tenant *a = make("/case/a", "1M");
    cache beside(make("/case/beside"), MiB), above(top, MiB);
    filler f(a);
    BOOST_TEST(f.charge(MiB));
    BOOST_TEST(!f.charge(16));
    BOOST_TEST(beside.scans() + above.scans() == 0u);
}

// 10^5 refusals a second must not ask for ever: a shrinker that says that it gave is believed so many times.
BOOST_FIXTURE_TEST_CASE(a_shrinker_that_lies_delays_a_refusal_by_16_tries, verified) {
    allot_tenant *a = make("/case/a", "1M");
    cache c(a, 512 * KiB);
    c.lies = true;
    filler f(a);
    BOOST_TEST(!f.charge(MiB));
    BOOST_TEST(c.scans() <= 16u);
    BOOST_TEST(c.scans() >= 1u);
}

BOOST_FIXTURE_TEST_CASE(protected_caches_survive_pressure_from_beside, verified) {
    allot_tenant *a = make("/case/A", "64M"), *kept = make("/case/A/kept"), *low = make("/case/A/low");
    BOOST_TEST(tenant_set(kept, "memory.min", "16M") == 0);
    BOOST_TEST(tenant_set(low, "memory.low", "16M") == 0);
    cache of_kept(kept, 16 * MiB), of_low(low, 16 * MiB), open(make("/case/A/open"), 16 * MiB);
    filler f(a);
    for (int i = 0; i < 31; ++i) BOOST_TEST_REQUIRE(f.charge(MiB));
    BOOST_TEST(open.bytes() <= 1 * MiB);
    BOOST_TEST(of_kept.bytes() == 16 * MiB);
    BOOST_TEST(of_low.bytes() >= 16 * MiB - 64 * KiB);
    BOOST_TEST(keyed(low, "memory.events", "low") == 0u);
    for (int i = 0; i < 15; ++i) BOOST_TEST_REQUIRE(f.charge(MiB));
    BOOST_TEST(of_low.bytes() <= 2 * MiB);
    BOOST_TEST(of_kept.bytes() == 16 * MiB);
    BOOST_TEST(keyed(low, "memory.events", "low") > 0u);
    BOOST_TEST(!f.charge(4 * MiB));
    BOOST_TEST(of_kept.bytes() == 16 * MiB);
}

BOOST_FIXTURE_TEST_CASE(threads_under_one_limit_live_off_a_cache_that_is_refilled, verified) {
    make("/case/A", "16M");
    allot_tenant *of[] = {make("/case/A/0"), make("/case/A/1"), make("/case/A/2")};
    cache c(make("/case/A/cache"), 8 * MiB);
    std::atomic<std::uint64_t> refused{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
        threads.emplace_back([&, t] {
            context *ctx = context_open(obj_cgroup_of(of[t]));
            for (int round = 0; round < 40; ++round) {
                int live = 0;
                for (int i = 0; i < 32; ++i)
                    if (charge(ctx, 128 * KiB))
                        ++live;
                    else
                        ++refused;
                for (; live != 0; --live) uncharge(ctx, 128 * KiB);
                (void)c.fill(MiB);
            }
            context_close(ctx);
        });
    for (std::thread &t : threads) t.join();
    // Three times 4 MiB and what is in stocks always fit beside an empty cache.
    BOOST_TEST(refused == 0u);
    BOOST_TEST(usage_of("/case/A") == c.bytes());
}

// --- modes that call nobody -------------------------------------------------------------------------------------------

BOOST_FIXTURE_TEST_CASE(who_must_not_wait_is_refused_without_asking, verified) {
    allot_tenant *a = make("/case/a", "1M");
    cache c(a, MiB);
    filler f(a);
    {
        charge_mode_scope hurry(charge_mode::nowait);
        BOOST_TEST(!f.charge(64 * KiB));
    }
    {
        user_code_scope user_code;
        BOOST_TEST(!f.charge(64 * KiB));
    }
    BOOST_TEST(c.counts() == 0u);
    BOOST_TEST(f.charge(64 * KiB));
    BOOST_TEST(c.counts() > 0u);
}

BOOST_FIXTURE_TEST_CASE(who_must_not_fail_asks_first, verified) {
    allot_tenant *a = make("/case/a", "1M");
    cache c(a, 512 * KiB);
    filler f(a);
    charge_mode_scope must(charge_mode::nofail);
    BOOST_TEST(f.charge(MiB));
    BOOST_TEST(c.bytes() == 0u);
    BOOST_TEST(keyed(a, "memory.stat", "forced") == 0u);
    BOOST_TEST(f.charge(MiB));
    BOOST_TEST(keyed(a, "memory.stat", "forced") == MiB);
}

// --- high -------------------------------------------------------------------------------------------------------------

BOOST_FIXTURE_TEST_CASE(going_over_high_makes_caches_give_way_and_refuses_nothing, verified) {
    allot_tenant *a = make("/case/a");
    BOOST_TEST(tenant_set(a, "memory.high", "4M") == 0);
    cache c(make("/case/a/cache"), 3 * MiB);
    std::uint64_t highs = 0;
    int id = listener_add(
        top, ALLOT_EVENT_BIT(allot_event_high),
        [](allot_tenant *, allot_event, std::uint64_t n, void *sum) { *static_cast<std::uint64_t *>(sum) += n; },
        &highs);
    filler f(a);
    for (int i = 0; i < 10; ++i) BOOST_TEST_REQUIRE(f.charge(512 * KiB));
    BOOST_TEST(c.bytes() == 0u);
    BOOST_TEST(usage_of("/case/a") == 5 * MiB);
    BOOST_TEST(highs == keyed(a, "memory.events", "high"));
    BOOST_TEST(highs > 0u);
    BOOST_TEST(listener_remove(id) == 0);
}

BOOST_FIXTURE_TEST_CASE(small_charges_over_high_ask_once_a_page, verified) {
    allot_tenant *a = make("/case/a");
    BOOST_TEST(tenant_set(a, "memory.high", "1M") == 0);
    cache c(a, 0); // has nothing, so usage stays over high
    filler f(a);
    BOOST_TEST(f.charge(2 * MiB));
    std::uint64_t before = c.counts();
    for (int i = 0; i < 256; ++i) BOOST_TEST_REQUIRE(f.charge(64));
    BOOST_TEST(c.counts() > before);
    BOOST_TEST(c.counts() - before <= 4 * 2u); // twice each: with regard to low, and without
}

BOOST_FIXTURE_TEST_CASE(a_limit_that_is_lowered_is_reclaimed_to, verified) {
    allot_tenant *a = make("/case/a");
    cache c(a, 8 * MiB);
    filler f(a);
    BOOST_TEST(f.charge(MiB));
    BOOST_TEST(tenant_set(a, "memory.high", "6M") == 0);
    BOOST_TEST(usage_of("/case/a") <= 6 * MiB);
    BOOST_TEST(usage_of("/case/a") > 5 * MiB);
    BOOST_TEST(tenant_set(a, "memory.max", "3M") == 0);
    BOOST_TEST(usage_of("/case/a") <= 3 * MiB);
    BOOST_TEST(c.bytes() > 1 * MiB);
    BOOST_TEST(tenant_set(a, "memory.max", "512K") == 0); // less than can be had: it holds all the same
    BOOST_TEST(c.bytes() == 0u);
    BOOST_TEST(usage_of("/case/a") == MiB);
    BOOST_TEST(!f.charge(16));
}

// --- memory.reclaim ---------------------------------------------------------------------------------------------------

BOOST_FIXTURE_TEST_CASE(a_request_gives_back_or_says_that_it_could_not, verified) {
    allot_tenant *a = make("/case/a");
    cache c(a, 4 * MiB);
    BOOST_TEST(tenant_set(top, "memory.reclaim", "1M") == 0);
    BOOST_TEST(c.bytes() == 3 * MiB);
    BOOST_TEST(tenant_set(a, "memory.reclaim", "1M swappiness=60\n") == 0);
    BOOST_TEST(tenant_set(a, "memory.reclaim", "4096 swappiness=max") == 0);
    BOOST_TEST(c.bytes() == 2 * MiB - 4096);
    BOOST_TEST(tenant_set(a, "memory.reclaim", "1G") == -EAGAIN);
    BOOST_TEST(c.bytes() == 0u);
    BOOST_TEST(tenant_set(a, "memory.reclaim", "16") == -EAGAIN);
    BOOST_TEST(tenant_set(a, "memory.reclaim", "0") == 0);
}

BOOST_FIXTURE_TEST_CASE(a_wrong_request_does_nothing, verified) {
    cache c(top, MiB);
    for (const char *wrong : {"", " ", "max", "-1", "1M swappiness=201", "1M swappiness=", "1M swappiness=a",
                              "1M nodes=0", "1M 2M", "swappiness=1", "1M swappiness=60x"})
        BOOST_TEST(tenant_set(top, "memory.reclaim", wrong) == -EINVAL, wrong);
    BOOST_TEST(c.counts() == 0u);
    BOOST_TEST(get(top, "memory.reclaim") == "error " + std::to_string(-EACCES));
    allot_tenant *gone = make("/case/gone");
    BOOST_TEST(tenant_destroy(gone) == 0);
    BOOST_TEST(tenant_set(gone, "memory.reclaim", "1M") == -ESTALE);
}

BOOST_FIXTURE_TEST_CASE(a_request_takes_stocks_and_asks_the_allocator, verified) {
    static std::atomic<int> purges{0};
    reclaim_set_purge([] { ++purges; });
    context *ctx = context_open(obj_cgroup_of(top));
    BOOST_TEST(charge(ctx, 16));
    BOOST_TEST(usage_of("/case") > 16u);
    BOOST_TEST(tenant_set(top, "memory.reclaim", "1M") == -EAGAIN); // stocks are nobody's use
    BOOST_TEST(usage_of("/case") == 16u);
    BOOST_TEST(purges == 1);
    uncharge(ctx, 16);
    context_close(ctx);
    reclaim_set_purge(nullptr);
}

BOOST_FIXTURE_TEST_CASE(what_a_liar_says_is_not_believed_by_who_asked, verified) {
    cache c(top, MiB);
    c.lies = true;
    BOOST_TEST(tenant_set(top, "memory.reclaim", "64K") == -EAGAIN);
}

// --- the rule of user code --------------------------------------------------------------------------------------------

namespace {

// A cache whose scan does whatever the interface has, as a careless program would.
struct busy_cache {
    allot_tenant *tenant;
    std::uint32_t owner;
    std::atomic<std::uint64_t> bytes{0};
    int scans = 0;

    static std::size_t count(void *me) { return static_cast<busy_cache *>(me)->bytes; }
    static std::size_t scan(void *me, std::size_t) {
        auto &self = *static_cast<busy_cache *>(me);
        ++self.scans;
        uncharge_bytes(self.owner, self.bytes, charge_kind::external);
        std::uint64_t given = self.bytes.exchange(0);
        BOOST_TEST(!charge_bytes(self.owner, 100 * MiB, charge_kind::external)); // refused: no shrinkers from within
        BOOST_TEST(tenant_set(self.tenant, "memory.reclaim", "1M") == -EAGAIN);
        BOOST_TEST(tenant_set(self.tenant, "memory.high", "1M") == 0);
        BOOST_TEST(tenant_set(self.tenant, "memory.high", "max") == 0);
        BOOST_TEST(verified::get(self.tenant, "memory.pressure") != "");
        int error = 0;
        allot_tenant *child = tenant_create(self.tenant, "child", error);
        context *ctx = context_open(obj_cgroup_of(child));
        BOOST_TEST(::charge(ctx, 4096));
        ::uncharge(ctx, 4096);
        context_close(ctx);
        BOOST_TEST(tenant_destroy(child) == 0);
        return given;
    }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(a_shrinker_may_call_everything_and_is_not_called_from_within, verified) {
    allot_tenant *a = make("/case/a", "4M");
    busy_cache b{.tenant = a, .owner = obj_cgroup_get(a)};
    int id = shrinker_add(a, busy_cache::count, busy_cache::scan, &b);
    BOOST_TEST(charge_bytes(b.owner, 2 * MiB, charge_kind::external));
    b.bytes = 2 * MiB;
    {
        filler f(a);
        BOOST_TEST(f.charge(3 * MiB));
        BOOST_TEST(b.scans == 1);
    }
    BOOST_TEST(shrinker_remove(id) == 0);
    obj_cgroup_put(b.owner);
}
