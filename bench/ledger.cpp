// ledger: a charge of three levels and its uncharge, in a hierarchy that processes share.
// Claim: that everybody can finish an operation costs a few times what three additions that fit cost, and no more where many
// threads or processes come at once; batches make it rare. An operation is one pair.
#include "accounting/shared/ledger.hpp"
#include "accounting/base/os.hpp"
#include "accounting/shared/accounts.hpp"
#include "accounting/shared/file.hpp"
#include "accounting/shared/members.hpp"
#include "accounting/shared/nodes.hpp"

#include <benchmark/benchmark.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace allot::shared;

namespace {

constexpr std::uint64_t bytes = 64 * 4096;

std::uint32_t open_leaf() { return account_open(node_open("/a/x").node); }

void one_pair(std::uint32_t at) {
    if (ledger_charge(at, bytes).is != verdict::done || ledger_uncharge(at, bytes).is != verdict::done) std::abort();
}

void pairs(benchmark::State &state) {
    const std::uint32_t at = open_leaf();
    for (auto _ : state) one_pair(at);
    account_close(at);
}

// Beside seven other processes that do the same without end.
void pairs_among_processes(benchmark::State &state) {
    std::vector<pid_t> others;
    for (int i = 0; i < 7; ++i) {
        others.push_back(fork());
        if (others.back() != 0) continue;
        allot::os_child_start();
        this_member = this_tag = 0;
        if (!member_join(root_node, 0)) _exit(1);
        for (const std::uint32_t at = open_leaf();;) one_pair(at);
    }
    const ledger_moment before = ledger_now();
    pairs(state);
    state.counters["all"] =
        benchmark::Counter(static_cast<double>(ledger_now().number - before.number) / 2, benchmark::Counter::kIsRate);
    for (const pid_t other : others) {
        kill(other, SIGKILL);
        waitpid(other, nullptr, 0);
    }
    usleep(2000);
    (void)reap_dead(root_node);
}

// What one process alone does: each level goes up if it fits, and down again.
std::atomic<std::uint64_t> plain_levels[3][8];

void plain(benchmark::State &state) {
    for (auto _ : state) {
        for (auto &level : plain_levels) {
            std::uint64_t seen = level[0].load(std::memory_order_relaxed);
            while (seen + bytes < allot::unlimited && !level[0].compare_exchange_weak(seen, seen + bytes)) {}
        }
        for (auto &level : plain_levels) level[0].fetch_sub(bytes);
    }
}

} // namespace

BENCHMARK(plain)->ThreadRange(1, 8)->UseRealTime();
BENCHMARK(pairs)->Threads(1)->Threads(2)->Threads(8)->Threads(96)->UseRealTime();
BENCHMARK(pairs_among_processes)->UseRealTime();

int main(int argc, char **argv) {
    std::string folder = "/dev/shm/allot-ledger-XXXXXX";
    if (mkdtemp(folder.data()) == nullptr ||
        attach(folder.c_str(), "bench", if_missing::make).error != attach_error::none)
        return 77;
    if (node_make("/a/x").node == 0 || !member_join(root_node, 0)) return 1;
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
    std::filesystem::remove_all(folder);
    return 0;
}
