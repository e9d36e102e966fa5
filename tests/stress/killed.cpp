// A shared hierarchy whose processes are killed and stopped between any two instructions: whatever happens, no level passes
// its limit, no figure is negative, and when all are dead and reaped nothing is left.
//
//     killed [--kills N] [--processes N] [--threads N] [--seed N] [--control]
//
// Processes with several threads charge, uncharge, move and take from each other over a tree of three levels, make and remove
// tenants, fork, and reap those that were killed. The first process kills one at a random moment, stops some for a while and
// some for good, and starts others. Now and then it stops all of them, finishes what was under way, and compares each level
// with the sum of the accounts below it.
//
// --control: levels are changed one after the other, without the ledger. That must be seen to go wrong.
//
// Exit status 0: as it should be; of a control, a difference was seen. 1: not so, with what is wrong on stderr. 2: a wrong
// argument.
#include "accounting/base/os.hpp"
#include "accounting/context.hpp"
#include "accounting/shared/accounts.hpp"
#include "accounting/shared/file.hpp"
#include "accounting/shared/ledger.hpp"
#include "accounting/shared/members.hpp"
#include "accounting/shared/nodes.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <vector>

using namespace allot;
using namespace allot::shared;

namespace {

struct settings {
    unsigned kills = 100, processes = 6, threads = 3, seed = 1;
    bool is_control = false;
};

// What processes tell each other beside the hierarchy. Counters and a maximum, relaxed.
struct board {
    std::atomic<std::uint64_t> operations, refusals, voids, taken, moved, made, removed, forked, reaped, longest_ns,
        slow, compared;
    std::atomic<bool> is_over;
    std::atomic<std::uint32_t> faults;
};
board *told;

constexpr std::uint64_t negative = std::uint64_t{1} << 62;
constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;
constexpr std::uint64_t root_max = 3 * mebibyte, middle_max = 2 * mebibyte, leaf_max = 3 * mebibyte / 2;
std::vector<std::uint32_t> leaves;
std::vector<std::uint32_t> all_nodes;

void fault(const std::string &what) {
    if (told->faults.fetch_add(1) < 20) std::fprintf(stderr, "killed: %s\n", what.c_str());
}

std::uint64_t usage_of(std::uint32_t node) { return node_at(node).usage.value.load(std::memory_order_relaxed); }
std::uint64_t charged_of(std::uint32_t at) { return account_at(at).charged.value.load(std::memory_order_relaxed); }

// What is so at every moment.
void check_always() {
    for (std::uint32_t n : all_nodes) {
        const std::uint64_t used = usage_of(n);
        if (used >= negative) fault("usage of node " + std::to_string(n) + " is negative");
        if (used > node_at(n).set.max.load(std::memory_order_relaxed))
            fault("usage of node " + std::to_string(n) + " is above its limit: " + std::to_string(used));
    }
    for (std::uint32_t a = 1; a < used(part::accounts); ++a)
        if (charged_of(a) >= negative) fault("account " + std::to_string(a) + " is negative");
}

// What is so when no operation is under way. Of figures that were not of one moment nothing is said.
std::uint32_t differences() {
    ledger_flush();
    const ledger_moment before = ledger_now();
    std::uint32_t found = 0;
    for (std::uint32_t n = 1; n < used(part::nodes); ++n) {
        std::uint64_t sum = 0;
        for_accounts([&](std::uint32_t i, const account &a, std::uint32_t) {
            if (is_node_below(node_of(a), n)) sum += charged_of(i);
        });
        found += sum != usage_of(n);
    }
    if (!before.is_quiet || ledger_now() != before) return 0;
    told->compared.fetch_add(1, std::memory_order_relaxed);
    return found;
}

// --- one process --------------------------------------------------------------------------------------------------------------

class worker {
public:
    worker(unsigned seed, std::uint32_t context, bool is_control)
        : random_(seed), context_(context), is_control_(is_control) {}

    void run() {
        open();
        while (!told->is_over.load(std::memory_order_relaxed)) step();
    }

private:
    void open() {
        account_ = account_open(leaves[random_() % leaves.size()]);
        const std::uint32_t mine = lock(context_);
        taking_at(context_).account.store(account_, std::memory_order_relaxed);
        unlock(context_, mine);
        held_ = 0;
    }

    // A lock that anybody may take over: who did something under it named it in the operation.
    static std::atomic<std::uint32_t> &lock_word(std::uint32_t context) {
        return reinterpret_cast<allot::context *>(context_address(context))->lock;
    }
    std::uint32_t lock(std::uint32_t context) {
        const std::uint32_t mine = (os_tid() << 8 | (++locks_ & 0xff)) & 0x7fffffff;
        lock_word(context).store(mine, std::memory_order_seq_cst);
        ledger_flush();
        return mine;
    }
    static void unlock(std::uint32_t context, std::uint32_t mine) {
        lock_word(context).compare_exchange_strong(mine, 0, std::memory_order_release);
    }

    // Nothing sleeps in the ledger: who waits for another runs. So the time in which this process is stopped does not count.
    static std::uint64_t processor_time() {
        timespec t{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return static_cast<std::uint64_t>(t.tv_sec) * 1000000000 + static_cast<std::uint64_t>(t.tv_nsec);
    }

    template<class Change>
    outcome timed(Change change) {
        const std::uint64_t start = processor_time();
        const outcome o = change();
        const std::uint64_t ns = processor_time() - start;
        std::uint64_t longest = told->longest_ns.load(std::memory_order_relaxed);
        while (ns > longest && !told->longest_ns.compare_exchange_weak(longest, ns, std::memory_order_relaxed)) {}
        if (ns > 50000000) told->slow.fetch_add(1, std::memory_order_relaxed);
        told->operations.fetch_add(1, std::memory_order_relaxed);
        if (o.is == verdict::refused) told->refusals.fetch_add(1, std::memory_order_relaxed);
        if (o.is == verdict::void_) told->voids.fetch_add(1, std::memory_order_relaxed);
        return o;
    }

    static void add_one_by_one(std::uint32_t at, std::uint64_t bytes) {
        for (std::uint32_t n = node_of(account_at(at)); n != 0; n = node_at(n).parent)
            node_at(n).usage.value.fetch_add(bytes, std::memory_order_relaxed);
        account_at(at).charged.value.fetch_add(bytes, std::memory_order_relaxed);
    }

    void charge(std::uint64_t bytes) {
        if (is_control_) {
            if (usage_of(root_node) > root_max) return;
            add_one_by_one(account_, bytes);
            held_ += bytes;
            return;
        }
        if (timed([&] { return ledger_charge(account_, bytes); }).is == verdict::done) held_ += bytes;
    }
    void uncharge(std::uint64_t bytes) {
        if (is_control_) {
            add_one_by_one(account_, std::uint64_t{0} - bytes);
            held_ -= bytes;
            return;
        }
        const verdict is = timed([&] { return ledger_uncharge(account_, bytes); }).is;
        if (is == verdict::done)
            held_ -= bytes;
        else
            held_ = charged_of(account_); // others have taken some
    }

    void step() {
        const unsigned what = random_() % 1000;
        const std::uint64_t bytes = 1 + random_() % 100000;
        if (what < 400 || is_control_) {
            if (what % 8 != 0 || held_ < bytes)
                charge(bytes);
            else
                uncharge(bytes);
        } else if (what < 600) {
            uncharge(std::min<std::uint64_t>(held_, bytes));
        } else if (what < 760) {
            take(bytes);
        } else if (what < 900) {
            move(bytes);
        } else if (what < 930) {
            reopen();
        } else if (what < 960) {
            make_and_remove();
        } else if (what < 970) {
            told->reaped.fetch_add(reap_dead(random_() % 2 == 0 ? root_node : leaves[0]), std::memory_order_relaxed);
        } else if (what < 990) {
            account_settle(account_);
        } else {
            check_always();
        }
    }

    // From the stock of somebody's context, of any process.
    void take(std::uint64_t bytes) {
        const std::uint32_t contexts = used(part::chunk_owners) * chunk_contexts;
        const std::uint32_t first = chunk_contexts * (1 + random_() % std::max(1u, used(part::chunk_owners) - 1));
        const std::uint32_t context = first + random_() % 4;
        if (context >= contexts) return;
        const std::uint32_t mine = lock(context);
        const std::uint32_t from = taking_at(context).account.load(std::memory_order_relaxed);
        if (from != 0 && timed([&] { return ledger_take(from, context, mine, bytes); }).is == verdict::done)
            told->taken.fetch_add(1, std::memory_order_relaxed);
        unlock(context, mine);
    }

    void move(std::uint64_t bytes) {
        const std::uint32_t to = account_open(leaves[random_() % leaves.size()]);
        if (to == 0) return;
        const bool is_all = random_() % 4 == 0;
        const outcome o = timed([&] { return ledger_move(account_, to, is_all ? charged_of(account_) : bytes); });
        if (o.is == verdict::done) told->moved.fetch_add(1, std::memory_order_relaxed);
        std::uint64_t left = charged_of(to);
        if (left != 0 && (random_() % 2 == 0 || ledger_move(to, account_, left).is != verdict::done))
            while (left != 0 && ledger_uncharge(to, left).is != verdict::done) left = charged_of(to);
        account_close(to);
        held_ = charged_of(account_);
    }

    void reopen() {
        const std::uint32_t mine = lock(context_);
        taking_at(context_).account.store(0, std::memory_order_relaxed);
        // Whoever goes on with the account now had another lock: his operation is void, or done.
        ledger_flush();
        for (std::uint64_t left = charged_of(account_); left != 0; left = charged_of(account_))
            (void)timed([&] { return ledger_uncharge(account_, left); });
        account_close(account_);
        unlock(context_, mine);
        open();
    }

    void make_and_remove() {
        const std::string path = std::string(random_() % 2 == 0 ? "/a/" : "/b/") + std::to_string(random_() % 5);
        const node_or_error n = node_make(path.c_str());
        if (n.node == 0) return;
        told->made.fetch_add(n.is_new, std::memory_order_relaxed);
        if (const std::uint32_t at = account_open(n.node)) {
            if (ledger_charge(at, 1000).is == verdict::done && ledger_uncharge(at, 1000).is != verdict::done)
                fault("what was charged cannot be given back");
            account_close(at);
        }
        told->removed.fetch_add(node_remove(n.node) == 0, std::memory_order_relaxed);
    }

    std::mt19937 random_;
    const std::uint32_t context_;
    const bool is_control_;
    std::uint32_t account_ = 0, locks_ = 0;
    std::uint64_t held_ = 0; // at most; others take from it
};

[[noreturn]] void live(const settings &s, unsigned seed, std::uint32_t copy_of) {
    os_child_start();
    this_member = this_tag = 0;
    const std::uint32_t home = leaves[seed % leaves.size()];
    if (!member_join(home, copy_of)) fault("a process finds no room to join"), _exit(1);
    if (!s.is_control && seed % 3 == 0) {
        // Something that a copy inherits: with it, the copy of a copy.
        const std::uint32_t at = account_open(home);
        if (at != 0 && copy_of != 0) account_at(at).inherited.store(50000, std::memory_order_relaxed);
        if (at != 0) (void)ledger_charge(at, 70000);
        if (fork() == 0) {
            told->forked.fetch_add(1, std::memory_order_relaxed);
            live(s, seed + (seed % 2 == 0 ? 1 : 3), this_member);
        }
    }
    const std::uint32_t chunk = chunk_open();
    if (chunk == 0) fault("no room for contexts"), _exit(1);
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < s.threads; ++i)
        threads.emplace_back([&, i] { worker(seed * 100 + i, chunk + i % 4, s.is_control).run(); });
    for (std::thread &t : threads) t.join();
    _exit(0);
}

// --- who kills ----------------------------------------------------------------------------------------------------------------

std::vector<std::uint32_t> living() {
    std::vector<std::uint32_t> pids;
    for (std::uint32_t i = next_member(1); i != 0; i = next_member(i + 1))
        if (i != this_member) pids.push_back(pid_in(member_at(i).identity.load()));
    return pids;
}

void start(const settings &s, unsigned seed) {
    if (fork() == 0) live(s, seed, 0);
}

void bury() {
    while (waitpid(-1, nullptr, WNOHANG) > 0) {}
}

// All but this one stand still while it looks.
void look_at_all(const settings &s) {
    const std::vector<std::uint32_t> pids = living();
    for (std::uint32_t pid : pids) kill(static_cast<pid_t>(pid), SIGSTOP);
    for (std::uint32_t pid : pids) {
        int status;
        (void)waitpid(static_cast<pid_t>(pid), &status, WUNTRACED);
    }
    if (!s.is_control)
        if (const std::uint32_t n = differences())
            fault(std::to_string(n) + " levels differ from the sums of their accounts");
    for (std::uint32_t pid : pids) kill(static_cast<pid_t>(pid), SIGCONT);
}

std::uint32_t what_is_left() {
    std::uint32_t left = 0;
    auto count = [&](bool is_left, const char *what, std::uint32_t index) {
        if (!is_left) return;
        ++left;
        if (left < 10) std::fprintf(stderr, "killed: left over: %s %u\n", what, index);
    };
    for (std::uint32_t i = 1; i < used(part::nodes); ++i) {
        count(usage_of(i) != 0, "usage of node", i);
        const node_state state = node_state_in(node_at(i).identity.load());
        count(state != node_state::living && state != node_state::removed && state != node_state::unused, "node", i);
    }
    for (std::uint32_t i = 1; i < used(part::accounts); ++i)
        count(account_at(i).owner.load() != 0 || charged_of(i) != 0, "account", i);
    for (std::uint32_t i = 0; i < used(part::ops); ++i) count(op_at(i).owner.load() != 0, "operation", i);
    for (std::uint32_t i = 1; i < used(part::chunk_owners); ++i) count(chunk_owner(i).load() != 0, "chunk", i);
    return left;
}

void make_tree() {
    node_at(root_node).set.max.store(root_max);
    all_nodes = {root_node};
    for (const char *path : {"/a", "/b", "/a/x", "/a/y", "/b/x", "/b/y"}) {
        const std::uint32_t n = node_make(path).node;
        node_at(n).set.max.store(node_at(n).depth == 1 ? middle_max : leaf_max);
        all_nodes.push_back(n);
        if (node_at(n).depth == 2) leaves.push_back(n);
    }
}

void kill_many(const settings &s) {
    std::mt19937 random(s.seed);
    unsigned seeds = s.seed * 1000000;
    for (unsigned i = 0; i < s.processes; ++i) start(s, ++seeds);
    for (unsigned killed = 0; killed < s.kills && told->faults == 0;) {
        usleep(random() % 4000);
        bury();
        std::vector<std::uint32_t> pids = living();
        while (pids.size() < s.processes) {
            start(s, ++seeds);
            pids.push_back(0);
        }
        std::erase(pids, 0u);
        if (pids.empty()) continue;
        const auto victim = static_cast<pid_t>(pids[random() % pids.size()]);
        const unsigned what = random() % 100;
        if (what < 12) {
            kill(victim, SIGSTOP);
            usleep(random() % 20000);
            if (what < 10) kill(victim, SIGCONT); // the others stay as they are until they are killed
        } else {
            kill(victim, SIGKILL);
            ++killed;
        }
        if (random() % 20 == 0) look_at_all(s);
        if (random() % 4 == 0) told->reaped.fetch_add(reap_dead(root_node), std::memory_order_relaxed);
        if (!s.is_control) check_always();
    }
}

void end_all() {
    told->is_over = true;
    for (int round = 0; round < 1000; ++round) {
        usleep(2000); // longer than who was seen alive is believed to be
        bury();
        const std::vector<std::uint32_t> pids = living();
        for (std::uint32_t pid : pids) kill(static_cast<pid_t>(pid), SIGKILL);
        told->reaped.fetch_add(reap_dead(root_node), std::memory_order_relaxed);
        if (pids.empty() && waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD) break;
    }
    usleep(2000);
    told->reaped.fetch_add(reap_dead(root_node), std::memory_order_relaxed);
}

// In memory where there is a place for it, as hierarchies are.
std::filesystem::path scratch_place() {
    const std::filesystem::path memory = "/dev/shm";
    return std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path();
}

bool parse(int argc, char **argv, settings &s) {
    for (int i = 1; i < argc; ++i) {
        const std::string name = argv[i];
        if (name == "--control") {
            s.is_control = true;
            continue;
        }
        if (i + 1 == argc) return false;
        const unsigned value = static_cast<unsigned>(std::strtoul(argv[++i], nullptr, 10));
        if (name == "--kills")
            s.kills = value;
        else if (name == "--processes")
            s.processes = value;
        else if (name == "--threads")
            s.threads = value;
        else if (name == "--seed")
            s.seed = value;
        else
            return false;
    }
    return s.processes != 0 && s.threads != 0;
}

} // namespace

int main(int argc, char **argv) {
    settings s;
    if (!parse(argc, argv, s)) {
        std::fprintf(stderr, "killed [--kills N] [--processes N] [--threads N] [--seed N] [--control]\n");
        return 2;
    }
    std::string folder = scratch_place() / "allot-killed-XXXXXX";
    if (mkdtemp(folder.data()) == nullptr) return 2;
    told =
        static_cast<board *>(mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    if (told == MAP_FAILED || attach(folder.c_str(), "killed", if_missing::make).error != attach_error::none) {
        std::fprintf(stderr, "killed: no shared memory\n");
        return 2;
    }
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    make_tree();
    if (!member_join(root_node, 0)) return 2;
    kill_many(s);
    end_all();
    const std::uint32_t left = what_is_left();
    const std::uint64_t anomalies = head().anomalies.load();
    std::printf(
        "%u kills: %llu operations (%llu refused, %llu void), %llu takes, %llu moves, tenants made %llu removed %llu, "
        "%llu forks, %llu reaped; all compared %llu times; longest operation %.2f ms, %llu over 50 ms; records used: "
        "%u members, %u accounts, "
        "%u operations; left over %u, anomalies %llu\n",
        s.kills, static_cast<unsigned long long>(told->operations), static_cast<unsigned long long>(told->refusals),
        static_cast<unsigned long long>(told->voids), static_cast<unsigned long long>(told->taken),
        static_cast<unsigned long long>(told->moved), static_cast<unsigned long long>(told->made),
        static_cast<unsigned long long>(told->removed), static_cast<unsigned long long>(told->forked),
        static_cast<unsigned long long>(told->reaped), static_cast<unsigned long long>(told->compared),
        static_cast<double>(told->longest_ns) / 1e6, static_cast<unsigned long long>(told->slow), used(part::members),
        used(part::accounts), used(part::ops), left, static_cast<unsigned long long>(anomalies));
    std::filesystem::remove_all(folder);
    if (s.is_control) {
        std::fprintf(stderr, "killed: %s\n",
                     left != 0 ? "the control left a difference, as it must" : "the control left none");
        return left != 0 ? 0 : 1;
    }
    return left == 0 && anomalies == 0 && told->faults == 0 ? 0 : 1;
}
