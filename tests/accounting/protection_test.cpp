#define BOOST_TEST_MODULE protection
#include <boost/test/unit_test.hpp>

#include "accounting/protection.hpp"

#include "accounting/base/os.hpp"
#include "accounting/base/ratio.hpp"
#include "tests/support/verified.hpp"

#include <map>
#include <string>
#include <vector>

using namespace allot;

namespace {

constexpr std::uint64_t MiB = std::uint64_t{1} << 20;

// The tree of the kernel's own test of memory.min and memory.low, as numbers: usages, settings, and a reclaim that takes
// from each leaf by what is not protected of it, a little at a time.
class numbers {
public:
    struct node {
        std::string parent;
        std::uint64_t min, usage;
    };
    std::map<std::string, node> nodes;

    std::uint64_t usage(const std::string &name) const {
        std::uint64_t sum = nodes.at(name).usage;
        for (const auto &[child, n] : nodes)
            if (n.parent == name) sum += usage(child);
        return sum;
    }
    protection_level level(const std::string &name) const {
        std::uint64_t children = 0;
        for (const auto &[child, n] : nodes)
            if (n.parent == name) children += std::min(usage(child), n.min);
        return {usage(name), {nodes.at(name).min, 0}, {children, 0}};
    }
    protection of(const std::string &name, const std::string &top) const {
        if (name == top) return {0, 0};
        const std::string &parent = nodes.at(name).parent;
        if (parent == top) return protection_at_the_top(level(name));
        return effective_protection(level(name), level(parent), of(parent, top));
    }
    bool is_below(const std::string &name, const std::string &top) const {
        return name == top || (!nodes.at(name).parent.empty() && is_below(nodes.at(name).parent, top));
    }
    // As much of `bytes` as can be had; what was taken.
    std::uint64_t reclaim(const std::string &top, std::uint64_t bytes, std::uint64_t step = 64 * 1024) {
        std::uint64_t taken = 0;
        while (taken < bytes) {
            std::map<std::string, std::uint64_t> shares;
            std::uint64_t all = 0;
            for (const auto &[name, n] : nodes) {
                if (n.usage == 0 || n.parent == "pressure" || name == "pressure" || !is_below(name, top)) continue;
                all += shares[name] = unprotected_part(n.usage, usage(name), of(name, top).min);
            }
            if (all == 0) break;
            std::uint64_t goal = std::min({step, bytes - taken, all}), before = taken;
            for (const auto &[name, share] : shares) {
                std::uint64_t part = std::min(ratio_floor(goal, share, all), nodes.at(name).usage);
                nodes.at(name).usage -= part;
                taken += part;
            }
            if (taken == before) break; // rounding: less than a byte each
        }
        return taken;
    }
};

numbers selftest() {
    numbers t;
    t.nodes = {{"A", {"", 0, 0}},
               {"B", {"A", 50 * MiB, 0}},
               {"C", {"B", 75 * MiB, 50 * MiB}},
               {"D", {"B", 25 * MiB, 50 * MiB}},
               {"E", {"B", 0, 50 * MiB}},
               {"F", {"B", 500 * MiB, 0}},
               {"pressure", {"A", 0, 0}}};
    return t;
}

std::uint64_t in_mib(std::uint64_t bytes) { return (bytes + MiB / 2) / MiB; }

} // namespace

// A has 200 MiB; 148 of them are wanted outside B, so that B must come down to what it is promised.
BOOST_FIXTURE_TEST_CASE(pressure_from_outside_leaves_siblings_their_shares, verified) {
    numbers t = selftest();
    for (std::uint64_t grown = 0; grown < 148 * MiB; grown += MiB) {
        t.nodes.at("pressure").usage += MiB;
        std::uint64_t all = t.usage("A");
        if (all > 200 * MiB) t.reclaim("A", all - 200 * MiB);
    }
    BOOST_TEST(t.usage("A") <= 200 * MiB + 64); // shares are rounded down
    BOOST_TEST(in_mib(t.usage("B")) >= 50u);
    BOOST_TEST(in_mib(t.usage("B")) <= 53u);
    BOOST_TEST(in_mib(t.usage("C")) >= 27u);
    BOOST_TEST(in_mib(t.usage("C")) <= 32u);
    BOOST_TEST(in_mib(t.usage("D")) >= 19u);
    BOOST_TEST(in_mib(t.usage("D")) <= 24u);
    BOOST_TEST(in_mib(t.usage("E")) <= 1u);
    BOOST_TEST(t.usage("F") == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_reclaim_of_all_stops_at_what_the_parent_is_promised, verified) {
    numbers t = selftest();
    t.reclaim("A", 1000 * MiB);
    BOOST_TEST(in_mib(t.usage("B")) == 50u);
    BOOST_TEST(in_mib(t.usage("E")) == 0u);
}

// The bug it would catch: the effective protection left by a reclaim of the parent is taken for the tenant's own.
BOOST_FIXTURE_TEST_CASE(a_reclaim_of_a_tenant_itself_ignores_its_protection, verified) {
    numbers t = selftest();
    t.reclaim("A", 1000 * MiB);
    BOOST_TEST_REQUIRE(t.usage("C") > 20 * MiB);
    BOOST_TEST(t.reclaim("C", t.usage("C") - 10 * MiB) > 0u);
    BOOST_TEST(in_mib(t.usage("C")) == 10u);
}

BOOST_FIXTURE_TEST_CASE(what_the_children_do_not_claim_protects_them_by_size, verified) {
    protection_level parent{100 * MiB, {60 * MiB, 0}, {20 * MiB, 0}};
    protection_level claims{20 * MiB, {40 * MiB, 0}, {}}, silent{60 * MiB, {0, 0}, {}}, small{20 * MiB, {0, 0}, {}};
    BOOST_TEST(effective_protection(claims, parent, parent.asked).min == 20 * MiB);
    BOOST_TEST(effective_protection(silent, parent, parent.asked).min == 30 * MiB);
    BOOST_TEST(effective_protection(small, parent, parent.asked).min == 10 * MiB);
}

BOOST_FIXTURE_TEST_CASE(a_child_has_no_more_than_its_parent, verified) {
    protection_level parent{100 * MiB, {10 * MiB, 30 * MiB}, {40 * MiB, 40 * MiB}};
    protection_level child{50 * MiB, {40 * MiB, 40 * MiB}, {}};
    protection has = effective_protection(child, parent, parent.asked);
    BOOST_TEST(has.min == 10 * MiB);
    BOOST_TEST(has.low == 30 * MiB);
    BOOST_TEST(effective_protection(child, parent, {0, 0}).low == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_promise_without_end_protects_all, verified) {
    protection_level parent{100 * MiB, {unlimited, 0}, {100 * MiB, 0}}, child{100 * MiB, {unlimited, 0}, {}};
    BOOST_TEST(effective_protection(child, parent, parent.asked).min == 100 * MiB);
    BOOST_TEST(unprotected_part(10 * MiB, 100 * MiB, 100 * MiB) == 0u);
    BOOST_TEST(unprotected_part(10 * MiB, 0, 1) == 0u);
    BOOST_TEST(unprotected_part(10 * MiB, 0, 0) == 10 * MiB);
    BOOST_TEST(unprotected_part(10 * MiB, 100 * MiB, 75 * MiB) == 10 * MiB / 4);
}

namespace {

protection protection_between(allot_tenant *t, allot_tenant *top) {
    signals_blocked quiet;
    lock_scope registry(region().registry_lock.word, lock_rank::registry);
    return protection_in(*tenant_from(t), *tenant_from(top));
}

} // namespace

// One thread has taken away from the sum what another one is about to add to it.
BOOST_FIXTURE_TEST_CASE(a_sum_of_children_that_is_below_zero_for_a_moment_is_zero, verified) {
    page_counter &c = tenant_from(top)->counter;
    c.children_min_usage -= 4096;
    c.children_low_usage -= 1;
    BOOST_TEST(protection_level_of(*tenant_from(top)).children.min == 0u);
    BOOST_TEST(protection_level_of(*tenant_from(top)).children.low == 0u);
    c.children_min_usage = c.children_low_usage = 0;
}

// The bug it would catch: what children use of their promises is summed only where the parent has promises itself, and
// stays when a promise is taken back.
BOOST_FIXTURE_TEST_CASE(tenants_of_three_levels_share_what_their_parent_has, verified) {
    allot_tenant *b = make("/case/b"), *c = make("/case/b/c"), *d = make("/case/b/d");
    context *of_c = context_open(obj_cgroup_of(c)), *of_d = context_open(obj_cgroup_of(d));
    membarrier_mode before = os_membarrier_mode();
    os_set_membarrier_mode(membarrier_mode::unavailable); // no stocks: usage is what is charged here
    for (int i = 0; i < 6; ++i) BOOST_TEST_REQUIRE(charge(of_c, 262144));
    for (int i = 0; i < 6; ++i) BOOST_TEST_REQUIRE(charge(of_d, 262144));
    BOOST_TEST(tenant_set(c, "memory.min", "1M") == 0);
    BOOST_TEST(tenant_set(d, "memory.min", "512K") == 0);
    BOOST_TEST(protection_between(c, top).min == 0u);
    BOOST_TEST(tenant_set(b, "memory.min", "768K") == 0);
    BOOST_TEST(protection_between(b, top).min == 768 * 1024u);
    BOOST_TEST(protection_between(c, top).min == 512 * 1024u);
    BOOST_TEST(protection_between(d, top).min == 256 * 1024u);
    BOOST_TEST(protection_between(c, b).min == MiB);
    BOOST_TEST(protection_between(c, c).min == 0u);
    BOOST_TEST(tenant_set(c, "memory.min", "0") == 0);
    BOOST_TEST(protection_between(d, top).min > 512 * 1024u);
    for (int i = 0; i < 6; ++i) uncharge(of_c, 262144);
    for (int i = 0; i < 6; ++i) uncharge(of_d, 262144);
    context_close(of_c);
    context_close(of_d);
    os_set_membarrier_mode(before);
}
