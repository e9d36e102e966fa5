#define BOOST_TEST_MODULE charge
#include <boost/test/unit_test.hpp>

#include "accounting/charge.hpp"

#include "accounting/base/os.hpp"
#include "accounting/context_table.hpp"
#include "tests/support/model.hpp"
#include "tests/support/verified.hpp"

#include <signal.h>
#include <sys/time.h>

#include <list>
#include <memory>
#include <random>
#include <thread>

using namespace allot;

namespace {

constexpr std::uint64_t kib = 1024, mib = kib * kib;

// Random operations on the real thing and on the model, side by side. One thread drives many contexts: each has one
// writer at a time, which is what ownership asks for; true concurrency is drain_test's subject.
class duet {
public:
    explicit duet(unsigned seed) : random_(seed) {
        planted &root = *tenants_.emplace(tenants_.end());
        root.real = verified::make("/case", "4M");
        root.model.path = "/case";
        root.model.max = 4 * mib;
    }
    ~duet() {
        while (!objects_.empty()) free(objects_.size() - 1);
        for (opened &c : contexts_) context_close(c.ctx);
    }

    void step() {
        unsigned what = random_() % 1000;
        if (what < 450)
            allocate();
        else if (what < 850)
            free_one();
        else if (what < 880)
            open();
        else if (what < 900)
            close();
        else if (what < 920)
            create();
        else if (what < 935)
            destroy();
        else if (what < 960)
            set_max();
        else if (what < 985)
            transfer();
        else
            fold_or_park();
    }

    void compare() {
        verify_result result = verify();
        BOOST_TEST_REQUIRE(result.differences == 0u, result.first);
        for (planted &t : tenants_) {
            const model::tenant &m = t.model;
            BOOST_TEST_CONTEXT(m.path) {
                BOOST_TEST_REQUIRE(verified::number(t.real, "memory.current") == m.live());
                BOOST_TEST(verified::keyed(t.real, "memory.stat", "slab") == m.sum(model::kind::slab));
                BOOST_TEST(verified::keyed(t.real, "memory.stat", "objects") == m.objects());
                BOOST_TEST(verified::keyed(t.real, "memory.stat", "large") == m.sum(model::kind::large));
                BOOST_TEST(verified::keyed(t.real, "memory.stat", "external") == m.sum(model::kind::external));
                BOOST_TEST(verified::keyed(t.real, "memory.events.local", "oom") == m.oom_local);
                BOOST_TEST(verified::keyed(t.real, "memory.events", "oom") == m.oom());
                BOOST_TEST(verified::keyed(t.real, "cgroup.stat", "nr_descendants") == m.descendants());
                BOOST_TEST(verified::number(t.real, "memory.peak") >= m.peak);
            }
        }
    }

private:
    struct planted {
        allot_tenant *real = nullptr;
        model::tenant model;
    };
    struct opened {
        context *ctx;
        std::uint32_t obj_cgroup;
    };
    struct object {
        std::uint32_t obj_cgroup;
        model::kind kind;
        std::uint64_t bytes;
    };

    planted &any_tenant() {
        auto it = tenants_.begin();
        std::advance(it, random_() % tenants_.size());
        return *it;
    }
    model::tenant *owner_of(std::uint32_t obj_cgroup) { // whom a handle's objects belong to, by the model
        for (planted &t : tenants_)
            if (tenant_of(obj_cgroup) == t.real) return &t.model;
        BOOST_FAIL("a handle names a tenant that the model does not know");
        return nullptr;
    }
    context *context_for(std::uint32_t obj_cgroup) { // one of perhaps several: any may free
        std::vector<context *> fit;
        for (opened &c : contexts_)
            if (c.obj_cgroup == obj_cgroup) fit.push_back(c.ctx);
        if (!fit.empty()) return fit[random_() % fit.size()];
        contexts_.push_back({context_open(obj_cgroup), obj_cgroup});
        return contexts_.back().ctx;
    }

    void allocate() {
        planted &t = any_tenant();
        std::uint32_t handle = obj_cgroup_of(t.real);
        unsigned size = random_() % 100;
        object o{handle, model::kind::slab, 16 * (1 + random_() % 256)};
        if (size >= 60) o.bytes = 4 * kib * (1 + random_() % 64);
        if (size >= 95)
            o = {handle, size >= 98 ? model::kind::external : model::kind::large, mib + 16 * (random_() % 4096)};
        bool real = o.kind == model::kind::slab ? charge(context_for(handle), static_cast<std::int64_t>(o.bytes))
                                                : charge_bytes(handle, o.bytes, kind_of(o));
        bool expected = model::try_charge(&t.model, o.kind, o.bytes);
        BOOST_TEST_REQUIRE(real == expected, t.model.path << ": " << o.bytes << " bytes");
        if (!real) return;
        obj_cgroup_grab(handle);
        objects_.push_back(o);
    }
    static charge_kind kind_of(const object &o) {
        return o.kind == model::kind::large ? charge_kind::large : charge_kind::external;
    }
    void free(std::size_t which) {
        std::swap(objects_[which], objects_.back());
        object o = objects_.back();
        objects_.pop_back();
        if (o.kind == model::kind::slab)
            uncharge(context_for(o.obj_cgroup), static_cast<std::int64_t>(o.bytes));
        else
            uncharge_bytes(o.obj_cgroup, o.bytes, kind_of(o));
        model::uncharged(owner_of(o.obj_cgroup), o.kind, o.bytes);
        obj_cgroup_put(o.obj_cgroup);
    }
    void free_one() {
        if (!objects_.empty()) free(random_() % objects_.size());
    }
    void open() {
        std::uint32_t handle = obj_cgroup_of(any_tenant().real);
        contexts_.push_back({context_open(handle), handle});
    }
    void close() {
        if (contexts_.empty()) return;
        std::swap(contexts_[random_() % contexts_.size()], contexts_.back());
        context_close(contexts_.back().ctx);
        contexts_.pop_back();
    }
    void fold_or_park() {
        if (contexts_.empty()) return;
        context *c = contexts_[random_() % contexts_.size()].ctx;
        if (random_() % 2 != 0)
            context_fold(c);
        else
            context_park(c); // and somebody goes on using it
    }
    void create() {
        planted &parent = any_tenant();
        if (tenants_.size() >= 12) return;
        planted &t = *tenants_.emplace(tenants_.end());
        t.model.parent = &parent.model;
        t.model.path = parent.model.path + "/" + std::to_string(next_name_++);
        parent.model.children.push_back(&t.model);
        t.real = verified::make(t.model.path.c_str());
    }
    void destroy() {
        planted &t = any_tenant();
        int expected = t.model.children.empty() ? 0 : -EBUSY;
        if (t.model.parent == nullptr) return;
        BOOST_TEST_REQUIRE(tenant_destroy(t.real) == expected);
        if (expected != 0) return;
        BOOST_TEST(tenant_destroy(t.real) == -ESTALE);
        BOOST_TEST(obj_cgroup_of(t.real) == obj_cgroup_of(real_of(t.model.parent)));
        model::destroy(&t.model);
        tenants_.remove_if([&](const planted &p) { return &p == &t; });
    }
    allot_tenant *real_of(const model::tenant *m) {
        for (planted &t : tenants_)
            if (&t.model == m) return t.real;
        return nullptr;
    }
    void set_max() {
        planted &t = any_tenant();
        if (t.model.parent == nullptr && random_() % 4 != 0) return;
        std::uint64_t max = random_() % 3 == 0 ? unlimited : random_() % (4 * mib);
        BOOST_TEST_REQUIRE(tenant_set(t.real, "memory.max", max == unlimited ? "max" : std::to_string(max).c_str()) ==
                           0);
        t.model.max = max;
        std::string protection = std::to_string(random_() % mib);
        BOOST_TEST_REQUIRE(tenant_set(t.real, random_() % 2 != 0 ? "memory.min" : "memory.low", protection.c_str()) ==
                           0);
    }
    void transfer() {
        if (objects_.empty()) return;
        object &o = objects_[random_() % objects_.size()];
        if (o.kind == model::kind::external) return;
        planted &to = any_tenant();
        std::uint32_t handle = obj_cgroup_of(to.real);
        bool real = transfer_charge(o.obj_cgroup, handle, o.bytes, 1);
        bool expected = model::transfer(owner_of(o.obj_cgroup), &to.model, o.kind, o.bytes);
        BOOST_TEST_REQUIRE(real == expected, "to " << to.model.path << ": " << o.bytes << " bytes");
        if (!real) return;
        obj_cgroup_grab(handle);
        obj_cgroup_put(o.obj_cgroup);
        o.obj_cgroup = handle;
    }

    std::mt19937 random_;
    std::list<planted> tenants_; // addresses stay
    std::vector<opened> contexts_;
    std::vector<object> objects_;
    unsigned next_name_ = 0;
};

void run_duet(unsigned seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
        duet d(seed);
        for (int i = 0; i < 1500; ++i) {
            d.step();
            if (i % 50 == 0) d.compare();
        }
        d.compare();
    }
}

} // namespace

BOOST_FIXTURE_TEST_CASE(real_and_model_agree_on_random_operations, verified) {
    for (unsigned seed = 1; seed <= 40; ++seed) {
        run_duet(seed);
        destroy_below("/case");
    }
}

BOOST_FIXTURE_TEST_CASE(real_and_model_agree_without_membarrier, verified) {
    membarrier_mode before = os_membarrier_mode();
    os_set_membarrier_mode(membarrier_mode::unavailable);
    for (unsigned seed = 101; seed <= 110; ++seed) {
        run_duet(seed);
        destroy_below("/case");
    }
    os_set_membarrier_mode(before);
}

BOOST_FIXTURE_TEST_CASE(a_charge_over_an_ancestors_max_changes_no_level, verified) {
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.max", "64K") == 0);
    tenant &leaf = *tenant_from(make("/case/a/b"));
    tenant &middle = *parent_of(leaf);
    BOOST_TEST((tree_try_charge(leaf, 60 * kib) == nullptr));
    BOOST_TEST((tree_try_charge(leaf, 8 * kib) == tenant_from(top)));
    for (tenant *t : {&leaf, &middle, tenant_from(top)}) {
        BOOST_TEST(usage(t->counter) == 60 * kib);
        BOOST_TEST(t->counter.peak.load() == 60 * kib);
    }
    tree_uncharge(leaf, 60 * kib);
}

BOOST_FIXTURE_TEST_CASE(batches_shrink_near_a_limit_and_with_the_number_of_contexts, verified) {
    tenant &t = *tenant_from(top);
    BOOST_TEST(charge_ahead_of(t).batch == charge_batch_bytes);
    BOOST_TEST(charge_ahead_of(t).swing == swing_bytes_max);
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.max", "1M") == 0);
    context *one = context_open(obj_cgroup_of(top));
    charge_ahead with_one = charge_ahead_of(t);
    context *two = context_open(obj_cgroup_of(top));
    BOOST_TEST(charge_ahead_of(t).batch < with_one.batch);
    BOOST_TEST(charge_ahead_of(t).swing < with_one.swing);
    BOOST_TEST_REQUIRE((tree_try_charge(t, mib - 8 * kib) == nullptr));
    BOOST_TEST(charge_ahead_of(t).batch == 0u);
    BOOST_TEST(charge_ahead_of(t).swing == 0u);
    tree_uncharge(t, mib - 8 * kib);
    context_close(one);
    context_close(two);
}

// 1000 objects of 4 KiB taken and given back again and again: the limit is far, so the tree must hear little of it.
BOOST_FIXTURE_TEST_CASE(the_stock_is_trimmed_to_a_batch_and_not_emptied, verified) {
    context *c = context_open(obj_cgroup_of(top));
    for (int i = 0; i < 1000; ++i) BOOST_TEST_REQUIRE(charge(c, 4096));
    for (int i = 0; i < 1000; ++i) {
        uncharge(c, 4096);
        std::uint64_t stock = keyed(top, "memory.stat", "stock");
        BOOST_TEST_REQUIRE(stock <= 2 * charge_batch_bytes);
        if (i > 128) BOOST_TEST_REQUIRE(stock >= charge_batch_bytes);
    }
    context_close(c);
}

namespace {

constexpr std::uint64_t two_batches = 2 * charge_batch_bytes;
std::uint64_t stock_of(allot_tenant *t) { return verified::keyed(t, "memory.stat", "stock"); }

// So many objects of 4 KiB, taken and given back; called after each operation.
template<class Visit>
void swing(context *c, int objects, Visit visit) {
    for (int i = 0; i < objects; ++i) {
        BOOST_TEST_REQUIRE(charge(c, 4096));
        visit();
    }
    for (int i = 0; i < objects; ++i) {
        uncharge(c, 4096);
        visit();
    }
}
void swing(context *c, int objects) {
    swing(c, objects, [] {});
}

} // namespace

BOOST_FIXTURE_TEST_CASE(a_swing_that_was_seen_once_goes_to_the_tree_no_more, verified) {
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.max", "1G") == 0);
    context *c = context_open(obj_cgroup_of(make("/case/a")));
    swing(c, 1000);
    swing(c, 1000); // finds out
    std::uint64_t usage_before = usage_of("/case");
    swing(c, 1000, [&] { BOOST_TEST_REQUIRE(usage_of("/case") == usage_before); });
    BOOST_TEST(number(top, "memory.current") == 0u);
    // What is kept was used before: no level has been higher than that and a batch.
    BOOST_TEST(number(top, "memory.peak") <= 1000 * 4096 + charge_batch_bytes);
    context_close(c);
}

BOOST_FIXTURE_TEST_CASE(what_a_swing_leaves_unused_is_bounded_however_far_it_goes, verified) {
    context *c = context_open(obj_cgroup_of(top));
    for (int i = 0; i < 3; ++i) swing(c, 16384); // 64 MiB
    BOOST_TEST(stock_of(top) > swing_bytes_max);
    BOOST_TEST(stock_of(top) <= swing_bytes_max + two_batches);
    context_close(c);
}

BOOST_FIXTURE_TEST_CASE(who_only_gives_or_only_takes_holds_two_batches, verified) {
    context *taker = context_open(obj_cgroup_of(top)), *giver = context_open(obj_cgroup_of(top));
    for (int i = 0; i < 4000; ++i) {
        BOOST_TEST_REQUIRE(charge(taker, 4096));
        uncharge(giver, 4096);
        BOOST_TEST_REQUIRE(stock_of(top) <= two_batches + charge_batch_bytes);
    }
    context_close(taker);
    context_close(giver);
}

// Of four contexts, all that swung so far together leave three quarters of what is left.
BOOST_FIXTURE_TEST_CASE(swings_are_kept_in_part_where_a_limit_is_near, verified) {
    constexpr std::uint64_t max = 24 * mib;
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.max", "24M") == 0);
    context *contexts[4];
    for (context *&c : contexts) c = context_open(obj_cgroup_of(top));
    for (int round = 0; round < 3; ++round)
        for (context *c : contexts) swing(c, 2000);
    BOOST_TEST(keyed(top, "memory.events", "max") == 0u);
    BOOST_TEST(stock_of(top) > 4 * charge_batch_bytes);
    BOOST_TEST(stock_of(top) <= max / 4 + 4 * two_batches);
    for (context *c : contexts) context_close(c);
}

BOOST_FIXTURE_TEST_CASE(a_drain_takes_what_a_swing_keeps_and_ends_it, verified) {
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.max", "256M") == 0);
    allot_tenant *a = make("/case/a");
    context *c = context_open(obj_cgroup_of(a));
    for (int i = 0; i < 3; ++i) swing(c, 1000);
    BOOST_TEST(stock_of(a) > two_batches);
    BOOST_TEST(charge_bytes(obj_cgroup_of(top), 256 * mib, charge_kind::external));
    BOOST_TEST(stock_of(a) == 0u);
    uncharge_bytes(obj_cgroup_of(top), 256 * mib, charge_kind::external);
    swing(c, 1000);
    BOOST_TEST(stock_of(a) <= two_batches);
    context_close(c);
}

BOOST_FIXTURE_TEST_CASE(whose_charges_are_counted_keeps_nothing_of_a_swing, verified) {
    context *c = context_open(obj_cgroup_of(top));
    for (int i = 0; i < 3; ++i) swing(c, 1000);
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.fail", "1000000") == 0);
    swing(c, 1000);
    BOOST_TEST(stock_of(top) == 0u);
    context_close(c);
}

namespace {

context *of_the_handler;
std::atomic<int> in_handler_charged{0};

void charge_in_a_handler(int) {
    if (charge(of_the_handler, 4096)) {
        in_handler_charged++;
        uncharge(of_the_handler, 4096);
    }
}

} // namespace

// The handler interrupts fast and slow paths of the same context. It must neither hang nor lose a byte.
BOOST_FIXTURE_TEST_CASE(a_signal_handler_may_charge_the_context_it_interrupts, verified) {
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.max", "64K") == 0);
    of_the_handler = context_open(obj_cgroup_of(top));
    struct sigaction action {};
    action.sa_handler = charge_in_a_handler;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, nullptr);
    itimerval often{{0, 50}, {0, 50}};
    setitimer(ITIMER_REAL, &often, nullptr);
    for (int i = 0; i < 400000; ++i)
        if (charge(of_the_handler, 16384)) uncharge(of_the_handler, 16384);
    itimerval never{};
    setitimer(ITIMER_REAL, &never, nullptr);
    BOOST_TEST(in_handler_charged > 0);
    context_fold(of_the_handler);
    BOOST_TEST(number(top, "memory.current") == 0u);
    context_close(of_the_handler);
}

namespace {

bool attempt(context *c, std::int64_t bytes) {
    return context_charge(*c, net_of(bytes, 1)) || context_charge_slow(c, net_of(bytes, 1));
}

} // namespace

// It can wait for nothing, so it takes back what it had added, and no more. The test plays the interrupted code by holding a
// lock, and somebody else by holding the context's.
BOOST_FIXTURE_TEST_CASE(what_a_handler_amid_our_own_code_is_refused_leaves_everything_as_it_was, verified) {
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.max", "64K") == 0);
    context *c = context_open(obj_cgroup_of(top));
    BOOST_TEST_REQUIRE(charge(c, 60 * kib));
    const std::string before = get(top, "memory.stat");
    auto in_a_handler = [c](std::int64_t bytes) {
        lock_word interrupted{0};
        lock_scope held(interrupted, lock_rank::growth);
        return attempt(c, bytes);
    };
    for (int i = 0; i < 10; ++i) BOOST_TEST(!in_a_handler(8 * kib)); // for want of room
    std::atomic<int> step{0};
    std::thread other([&] {
        lock_scope own(c->lock, lock_rank::context);
        step = 1;
        while (step != 2) os_yield();
    });
    while (step != 1) os_yield();
    for (int i = 0; i < 10; ++i) BOOST_TEST(!in_a_handler(5 * kib)); // because somebody has the context
    step = 2;
    other.join();
    context_fold(c);
    BOOST_TEST(get(top, "memory.stat") == before);
    BOOST_TEST(number(top, "memory.current") == 60 * kib);
    BOOST_TEST(in_a_handler(4 * kib)); // what fits does
    {
        charge_mode_scope hurry(charge_mode::atomic);
        BOOST_TEST(in_a_handler(16 * kib)); // and what must
    }
    BOOST_TEST(number(top, "memory.current") == 80 * kib);
    BOOST_TEST(keyed(top, "memory.stat", "forced") == 16 * kib);
    BOOST_TEST(keyed(top, "memory.events.local", "max") == 1u);
    BOOST_TEST(verify().differences == 0u);
    for (std::int64_t bytes : {16, 4, 60}) uncharge(c, bytes * static_cast<std::int64_t>(kib));
    context_close(c);
}

// What is charged ahead must not be what goes over `high`: a program would be asked to shrink for what nobody uses.
BOOST_FIXTURE_TEST_CASE(high_is_crossed_by_what_is_used_and_not_by_what_is_charged_ahead, verified) {
    constexpr std::uint64_t high = 1000 * 1000;
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.high", "1000000") == 0);
    context *c = context_open(obj_cgroup_of(make("/case/a")));
    std::uint64_t charged = 0;
    while (keyed(top, "memory.events", "high") == 0) {
        BOOST_TEST_REQUIRE(charged <= high);
        BOOST_TEST_REQUIRE(charge(c, 4096));
        charged += 4096;
    }
    BOOST_TEST(charged > high);
    BOOST_TEST(charge(c, 4096)); // above it there is nothing to keep free, and batches are whole again
    BOOST_TEST(keyed(top, "memory.stat", "stock") > 0u);
    for (charged += 4096; charged > 0; charged -= 4096) uncharge(c, 4096);
    context_close(c);
}
