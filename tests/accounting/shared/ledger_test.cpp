#define BOOST_TEST_MODULE shared_ledger
#include <boost/test/unit_test.hpp>

#include "accounting/context.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/shared_tree.hpp"

#include <chrono>
#include <random>
#include <thread>
#include <vector>

using namespace allot;
using namespace allot::shared;

namespace {

struct levels : shared_tree {
    std::uint32_t a = made("/a", 1000), b = made("/a/b", 800), c = made("/a/c", 800);
    std::uint32_t at_a = account_open(a), at_b = account_open(b), at_c = account_open(c);

    void expect(std::uint64_t at_root, std::uint64_t of_a, std::uint64_t of_b, std::uint64_t of_c) {
        BOOST_TEST(usage(root_node) == at_root);
        BOOST_TEST(usage(a) == of_a);
        BOOST_TEST(usage(b) == of_b);
        BOOST_TEST(usage(c) == of_c);
        BOOST_TEST(charged(at_a) == of_a - of_b - of_c);
        BOOST_TEST(charged(at_b) == of_b);
        BOOST_TEST(charged(at_c) == of_c);
        BOOST_TEST(head().anomalies.load() == 0u);
    }
    std::uint32_t generation(std::uint32_t at) { return account_at(at).generation; }
};

bool is(outcome o, verdict v, std::uint32_t depth = 0) { return o.is == v && o.depth == depth; }

std::atomic<std::uint32_t> &lock_of(std::uint32_t c) { return reinterpret_cast<context *>(context_address(c))->lock; }

} // namespace

BOOST_FIXTURE_TEST_CASE(a_charge_is_taken_at_every_level_or_at_none, levels) {
    BOOST_TEST(is_done(ledger_charge(at_b, 700)));
    expect(700, 700, 700, 0);
    BOOST_TEST(is(ledger_charge(at_b, 101), verdict::refused, 2));
    BOOST_TEST(is(ledger_charge(at_c, 301), verdict::refused, 1));
    node_at(root_node).set.max.store(900);
    BOOST_TEST(is(ledger_charge(at_c, 201), verdict::refused, 0));
    expect(700, 700, 700, 0);
    BOOST_TEST(is_done(ledger_charge(at_c, 200)));
    expect(900, 900, 700, 200);
    BOOST_TEST(is_done(ledger_uncharge(at_b, 700)));
    BOOST_TEST(is(ledger_uncharge(at_b, 1), verdict::void_));
    expect(200, 200, 0, 200);
    BOOST_TEST(node_at(a).peak.load() == 900u);
    BOOST_TEST(account_at(at_b).peak.load() == 700u);
}

BOOST_FIXTURE_TEST_CASE(headroom_lies_beyond_max_and_what_must_be_is_not_refused, levels) {
    node_at(b).headroom.store(50);
    BOOST_TEST(is(ledger_charge(at_b, 850), verdict::refused, 2));
    BOOST_TEST(is_done(ledger_charge(at_b, 850, beyond::headroom)));
    BOOST_TEST(is(ledger_charge(at_b, 1, beyond::headroom), verdict::refused, 2));
    BOOST_TEST(is_done(ledger_charge(at_b, 5000, beyond::anything)));
    expect(5850, 5850, 5850, 0);
    BOOST_TEST(is(ledger_charge(at_c, 1), verdict::refused, 1));
}

BOOST_FIXTURE_TEST_CASE(sizes_that_wrap_are_refused, levels) {
    for (std::uint32_t n : {root_node, a, b}) node_at(n).set.max.store(unlimited);
    BOOST_TEST(is_done(ledger_charge(at_b, 10)));
    BOOST_TEST(is(ledger_charge(at_b, ~std::uint64_t{0} - 5), verdict::refused, 2));
    BOOST_TEST(is(ledger_charge(at_b, unlimited, beyond::anything), verdict::refused, 2));
    BOOST_TEST(is(ledger_uncharge(at_b, ~std::uint64_t{0}), verdict::void_));
    expect(10, 10, 10, 0);
}

BOOST_FIXTURE_TEST_CASE(a_move_leaves_common_levels_alone_and_needs_room_at_the_others, levels) {
    BOOST_TEST(is_done(ledger_charge(at_b, 600)));
    BOOST_TEST(is_done(ledger_charge(at_c, 300)));
    BOOST_TEST(is(ledger_move(at_b, at_c, 501), verdict::refused, 2));
    BOOST_TEST(is(ledger_move(at_b, at_c, 601), verdict::void_));
    BOOST_TEST(is_done(ledger_move(at_b, at_c, 500)));
    expect(900, 900, 100, 800);
    BOOST_TEST(node_at(a).peak.load() == 900u); // what is common was never higher
    BOOST_TEST(is_done(ledger_move(at_c, at_a, 800)));
    expect(900, 900, 100, 0);
    BOOST_TEST(is_done(ledger_move(at_a, at_b, 100)));
    expect(900, 900, 200, 0);
    BOOST_TEST(is_done(ledger_move(at_b, at_b, 100)));
    expect(900, 900, 200, 0);
}

BOOST_FIXTURE_TEST_CASE(all_of_an_account_moves_up_if_it_still_is_that_account, levels) {
    BOOST_TEST(is_done(ledger_charge(at_b, 600)));
    BOOST_TEST(is(ledger_move_all(at_b, generation(at_b) + 1, at_a), verdict::void_));
    BOOST_TEST(is(ledger_move_all(at_b, generation(at_b), at_c), verdict::void_)); // not upwards
    BOOST_TEST(is_done(ledger_move_all(at_b, generation(at_b), at_a)));
    expect(600, 600, 0, 0);
}

BOOST_FIXTURE_TEST_CASE(what_is_reaped_is_gone_once, levels) {
    BOOST_TEST(is_done(ledger_charge(at_b, 600)));
    BOOST_TEST(is(ledger_reap(at_b, generation(at_b) + 1), verdict::void_));
    BOOST_TEST(is_done(ledger_reap(at_b, generation(at_b))));
    BOOST_TEST(is(ledger_reap(at_b, generation(at_b)), verdict::void_));
    expect(0, 0, 0, 0);
}

BOOST_FIXTURE_TEST_CASE(what_is_taken_from_a_context_needs_its_lock_and_its_owners_account, levels) {
    const std::uint32_t c0 = chunk_open();
    constexpr std::uint32_t sleepers = std::uint32_t{1} << 31;
    BOOST_TEST(is_done(ledger_charge(at_b, 600)));
    lock_of(c0).store(7 | sleepers);
    BOOST_TEST(is(ledger_take(at_b, c0, 8, 100), verdict::void_));
    BOOST_TEST(is(ledger_take(at_b, c0, 7, 601), verdict::void_));
    BOOST_TEST(is_done(ledger_take(at_b, c0, 7, 100)));
    expect(500, 500, 500, 0);
    BOOST_TEST(taking_at(c0).taken.value == 100u);
    other_process other(root_node, [](other_process::words &w) { w.a = chunk_open(); });
    lock_of(other.told->a).store(7);
    BOOST_TEST(is(ledger_take(at_b, other.told->a, 7, 100), verdict::void_));
}

BOOST_FIXTURE_TEST_CASE(a_pass_is_done_once_and_told_to_the_heir, levels) {
    const std::uint32_t dead = account_open(b);
    BOOST_TEST(is_done(ledger_charge(dead, 100)));
    BOOST_TEST(is(ledger_pass(dead, generation(dead), at_b, generation(at_b) + 1, 30), verdict::void_));
    BOOST_TEST(is(ledger_pass(dead, generation(dead), at_c, generation(at_c), 30), verdict::void_)); // another node
    BOOST_TEST(is(ledger_pass(dead, generation(dead), at_b, generation(at_b), 101), verdict::void_));
    BOOST_TEST(is_done(ledger_pass(dead, generation(dead), at_b, generation(at_b), 30)));
    BOOST_TEST(is(ledger_pass(dead, generation(dead), at_b, generation(at_b), 30), verdict::void_));
    BOOST_TEST(charged(dead) == 70u);
    BOOST_TEST(charged(at_b) == 30u);
    BOOST_TEST(account_unsettled(account_at(at_b)) == 30u);
    BOOST_TEST(account_unsettled(account_at(dead)) == 0u);
    BOOST_TEST(usage(b) == 100u);
    BOOST_TEST(is_done(ledger_reap(dead, generation(dead))));
    account_close(dead);
    // The next owner of the record may hand on too.
    const std::uint32_t again = account_open(b);
    BOOST_TEST(again == dead);
    BOOST_TEST(account_unsettled(account_at(again)) == 0u);
    BOOST_TEST(is_done(ledger_charge(again, 50)));
    BOOST_TEST(is_done(ledger_pass(again, generation(again), at_b, generation(at_b), 20)));
    BOOST_TEST(account_unsettled(account_at(at_b)) == 50u);
}

BOOST_FIXTURE_TEST_CASE(moments_tell_whether_anything_happened, levels) {
    const ledger_moment before = ledger_now();
    BOOST_TEST(before.is_quiet);
    ledger_flush();
    BOOST_TEST((ledger_now() == before));
    BOOST_TEST(is_done(ledger_charge(at_b, 1)));
    BOOST_TEST(ledger_now().number == before.number + 1);
}

BOOST_FIXTURE_TEST_CASE(an_operation_of_who_is_gone_is_finished_by_the_next, levels) {
    // As if its owner had been killed right after it was announced.
    operation &op = op_at(5);
    op.owner.store(two_of(9, 9));
    op.kind.store(op_kind::charge);
    op.account.store(at_b);
    op.node.store(b);
    op.bytes.store(300);
    op.beyond.store(static_cast<std::uint32_t>(beyond::max));
    const std::uint64_t number = ledger_now().number + 1;
    head().current.store(number * 2 * nr_ops | nr_ops | 5);
    BOOST_TEST(!ledger_now().is_quiet);
    BOOST_TEST(is_done(ledger_charge(at_c, 100)));
    expect(400, 400, 300, 100);
    op.owner.store(0);
}

BOOST_FIXTURE_TEST_CASE(more_threads_may_be_stopped_amid_operations_than_there_are_first_records, levels) {
    for (std::uint32_t i = 0; i < nr_first_ops; ++i) op_at(i).owner.store(two_of(9, 9));
    BOOST_TEST(is_done(ledger_charge(at_b, 1)));
    BOOST_TEST(used(part::ops) == nr_first_ops + 1);
    BOOST_TEST(is_done(ledger_charge(at_b, 1)));
    BOOST_TEST(used(part::ops) == nr_first_ops + 1);
    expect(2, 2, 2, 0);
}

BOOST_FIXTURE_TEST_CASE(a_damaged_record_leads_nowhere, levels) {
    operation &op = op_at(5);
    op.kind.store(op_kind::charge);
    op.account.store(4000000000u);
    op.node.store(4000000000u);
    head().current.store((ledger_now().number + 1) * 2 * nr_ops | nr_ops | 5);
    BOOST_TEST(is_done(ledger_charge(at_b, 1)));
    expect(1, 1, 1, 0);
}

// --- many at once ---

BOOST_FIXTURE_TEST_CASE(threads_at_once_leave_exact_figures_and_pass_no_limit, levels) {
    constexpr int nr_threads = 4;
    const int operations = is_sanitized ? 20000 : 100000;
    std::atomic<int> over{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < nr_threads; ++t)
        threads.emplace_back([&, t] {
            std::mt19937 random(static_cast<unsigned>(t));
            const std::uint32_t mine[2] = {account_open(b), account_open(c)};
            std::uint64_t held[2] = {0, 0};
            for (int i = 0; i < operations; ++i) {
                const unsigned which = random() % 2;
                const std::uint64_t bytes = 1 + random() % 300;
                switch (random() % 3) {
                case 0:
                    if (is_done(ledger_charge(mine[which], bytes))) held[which] += bytes;
                    break;
                case 1:
                    if (held[which] >= bytes && is_done(ledger_uncharge(mine[which], bytes))) held[which] -= bytes;
                    break;
                default:
                    if (held[which] >= bytes && is_done(ledger_move(mine[which], mine[1 - which], bytes)))
                        held[which] -= bytes, held[1 - which] += bytes;
                }
                over += usage(a) > 1000 || usage(b) > 800 || usage(c) > 800;
                over += charged(mine[which]) != held[which];
            }
            for (int which = 0; which < 2; ++which) {
                if (held[which] != 0 && !is_done(ledger_uncharge(mine[which], held[which]))) ++over;
                account_close(mine[which]);
            }
        });
    for (std::thread &t : threads) t.join();
    BOOST_TEST(over == 0);
    expect(0, 0, 0, 0);
    BOOST_TEST(node_at(a).peak.load() <= 1000u);
}

namespace {

// The tree as one process would keep it, changed under a lock beside the real one.
struct model {
    pthread_mutex_t lock;
    std::uint64_t usage[8], accounts[16];
    std::uint32_t differences;
};

} // namespace

// Several processes do random operations, each compared at once with what a plain tree under a lock says of it.
BOOST_FIXTURE_TEST_CASE(processes_agree_with_a_plain_tree_at_each_step, shared_tree,
                        *boost::unit_test::precondition(is_built_for_speed)) {
    constexpr int nr_processes = 3, steps = 20000;
    constexpr std::uint64_t max[5] = {3000, 2000, 1200, 1500, 900};
    const std::uint32_t nodes[5] = {root_node, made("/a"), made("/a/x"), made("/a/y"), made("/b")};
    constexpr int parent[5] = {-1, 0, 1, 1, 0};
    for (int i = 0; i < 5; ++i) node_at(nodes[i]).set.max.store(max[i]);
    auto *m =
        static_cast<model *>(mmap(nullptr, sizeof(model), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    pthread_mutexattr_t shared_lock;
    pthread_mutexattr_init(&shared_lock);
    pthread_mutexattr_setpshared(&shared_lock, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&m->lock, &shared_lock);
    std::vector<pid_t> children;
    for (int p = 0; p < nr_processes; ++p) {
        children.push_back(fork());
        if (children.back() != 0) continue;
        other_process::join(root_node, 0);
        std::mt19937 random(static_cast<unsigned>(p));
        std::uint32_t at[5];
        for (int i = 0; i < 5; ++i) at[i] = account_open(nodes[i]);
        std::uint64_t *mine = m->accounts + 5 * p;
        for (int s = 0; s < steps; ++s) {
            const int from = static_cast<int>(random() % 5), to = static_cast<int>(random() % 5);
            const std::uint64_t bytes = random() % 700;
            pthread_mutex_lock(&m->lock);
            auto is_above = [&](int top, int n) {
                for (; n >= 0; n = parent[n])
                    if (n == top) return true;
                return false;
            };
            outcome expected{verdict::done, 0}, real{};
            auto rise = [&](int n, int unless_above) {
                for (int i = n; i >= 0; i = parent[i])
                    if (!(unless_above >= 0 && is_above(i, unless_above)) && m->usage[i] + bytes > max[i]) {
                        std::uint32_t depth = 0;
                        for (int j = parent[i]; j >= 0; j = parent[j]) ++depth;
                        expected = {verdict::refused, depth};
                        return false;
                    }
                return true;
            };
            auto add = [&](int n, std::uint64_t what) {
                for (int i = n; i >= 0; i = parent[i]) m->usage[i] += what;
                mine[n] += what;
            };
            switch (random() % 4) {
            case 0:
            case 1:
                if (rise(from, -1)) add(from, bytes);
                real = ledger_charge(at[from], bytes);
                break;
            case 2:
                if (mine[from] < bytes)
                    expected = {verdict::void_, 0};
                else
                    add(from, std::uint64_t{0} - bytes);
                real = ledger_uncharge(at[from], bytes);
                break;
            default:
                if (from != to && mine[from] < bytes)
                    expected = {verdict::void_, 0};
                else if (from != to && rise(to, from))
                    add(from, std::uint64_t{0} - bytes), add(to, bytes);
                real = ledger_move(at[from], at[to], bytes);
            }
            bool same = real.is == expected.is && real.depth == expected.depth;
            for (int i = 0; i < 5; ++i) same &= usage(nodes[i]) == m->usage[i] && charged(at[i]) == mine[i];
            m->differences += !same;
            pthread_mutex_unlock(&m->lock);
        }
        _exit(0);
    }
    for (pid_t child : children) {
        int status;
        waitpid(child, &status, 0);
        BOOST_TEST(status == 0);
    }
    BOOST_TEST(m->differences == 0u);
    usleep(2000);
    BOOST_TEST(reap_dead(root_node) == static_cast<std::uint32_t>(nr_processes));
    for (std::uint32_t n : nodes) BOOST_TEST(usage(n) == 0u);
}
