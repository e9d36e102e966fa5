// page_pairs --pairs P --variant NAME: pairs of a sender and a receiver charge pages for messages of 10 KiB, all to one
// leaf, three levels below the root. Claim: what accounting adds to a message is at most half a percent with allot, and with
// Linux what its changes of 6.1 left. It is the page path of the test those changes were judged by: 36 pairs on 72 CPUs.
//
// page_pairs --leaves K --variant NAME: one thread serves K leaves. Claim: no cliff beyond any number of leaves with allot,
// and with Linux one beyond the slots of its page stock.
//
// An operation is a message. Here a thread is a CPU of the engine: there are as many stocks as threads. With --iterations
// one thread plays all of them in turn, so that counts and instructions are the same in every run.
#include "bench/experiment.hpp"
#include "bench/page_path.hpp"
#include "bench/page_tree.hpp"
#include "bench/work.hpp"

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <deque>
#include <thread>

using namespace allot::bench;

namespace {

struct settings {
    std::uint64_t pairs = 0, leaves = 0; // one of them
    std::string variant = "allot", order = "turn", receive_charged_by = "receiver";
    std::uint64_t window = 128, ack = 18, levels = 3;
    double cross = 0.5, work = 3800, seconds = 1;
    std::uint64_t work_rounds = 0, iterations = 0, warm_up = 0;
    bool is_protected = false, traps = false, json = false;

    [[nodiscard]] options declare() {
        options o;
        o.number("--pairs", pairs);
        o.number("--leaves", leaves);
        o.word("--order", order, {"turn", "random"});
        o.word("--variant", variant);
        o.number("--window", window, 3);
        o.number("--ack", ack, 3);
        o.real("--cross", cross, 0, 1);
        o.word("--receive-charged-by", receive_charged_by, {"receiver", "sender"});
        o.real("--work", work, 0, 1e6);
        o.number("--work-rounds", work_rounds, 0);
        o.number("--levels", levels);
        o.flag("--protected", is_protected);
        o.real("--seconds", seconds, 0.001, 3600);
        o.number("--iterations", iterations);
        o.number("--warm-up", warm_up);
        o.flag("--traps", traps);
        o.flag("--json", json);
        return o;
    }
    void check() {
        if (pairs != 0 && leaves != 0) fail("--pairs and --leaves exclude each other");
        if (leaves == 0 && pairs == 0) pairs = 1;
        if (pairs > 512 || leaves > 4096) fail("expected at most 512 pairs or 4096 leaves");
        if (window > 65536 || ack > 240) fail("expected a window of at most 65536 pages and an --ack of at most 240");
        if (levels > 32) fail("expected at most 32 levels");
        if (traps && iterations == 0) fail("--traps: needs --iterations");
    }
    [[nodiscard]] tree_shape tree() const {
        return {.cpus = static_cast<std::uint32_t>(leaves != 0 ? 1 : 2 * pairs),
                .levels = static_cast<std::uint32_t>(levels),
                .leaves = static_cast<std::uint32_t>(std::max<std::uint64_t>(leaves, 1)),
                .is_protected = is_protected};
    }
    [[nodiscard]] path_shape path() const {
        return {.ack_pages = static_cast<std::uint32_t>(ack),
                .window_pages = static_cast<std::uint32_t>(window),
                .cross = cross,
                .receive = receive_charged_by == "sender" ? receive_charge::by_sender : receive_charge::by_receiver,
                .work_rounds = work_rounds};
    }
};

// How often something is charged or uncharged for so many messages of each pair.
std::uint64_t charges_of_pairs(const path_shape &path, std::uint64_t messages, std::uint64_t pairs) {
    const std::uint64_t acks = messages / path.messages_an_ack();
    return pairs * (3 * messages + acks + messages % path.messages_an_ack());
}

// --- all on one thread -------------------------------------------------------------------------------------------------------

// run(messages) is called for what comes before the traps and for what comes between them; the outcome is of both.
template<typename Run>
void run_counted(const settings &s, outcome &r, Run run) {
    const stopwatch watch;
    if (s.warm_up != 0) run(s.warm_up);
    if (s.traps) trap();
    run(s.iterations);
    if (s.traps) trap();
    watch.read(r);
}

template<typename Tree>
outcome pairs_counted(Tree &tree, const settings &s, const path_shape &path) {
    outcome r;
    {
        pairs_in_turn<Tree> pairs(tree, static_cast<std::uint32_t>(s.pairs), path);
        run_counted(s, r, [&](std::uint64_t messages) { pairs.run(messages); });
    }
    const std::uint64_t messages = s.warm_up + s.iterations;
    r.operations = s.pairs * messages;
    r.counted = tree.counted(charges_of_pairs(path, messages, s.pairs));
    return r;
}

// --leaves: it is one thread anyway.
template<typename Tree>
outcome serve_leaves(Tree &tree, const settings &s, const path_shape &path) {
    outcome r;
    std::uint64_t acks = 0;
    {
        leaf_server<Tree> server(tree, static_cast<std::uint32_t>(s.leaves),
                                 s.order == "random" ? leaf_order::random : leaf_order::in_turn, path);
        if (s.iterations != 0) {
            run_counted(s, r, [&](std::uint64_t n) { server.run(n); });
            r.operations = s.warm_up + s.iterations;
        } else {
            constexpr std::uint64_t messages_a_look = 64;
            const stopwatch watch;
            for (; r.seconds < s.seconds; watch.read(r)) {
                server.run(messages_a_look);
                r.operations += messages_a_look;
            }
        }
        acks = server.acks();
    }
    r.counted = tree.counted(r.operations + acks + (r.operations - acks * path.messages_an_ack()));
    return r;
}

// --- a thread each -----------------------------------------------------------------------------------------------------------

// The two threads of a pair stand on different CPUs, and all CPUs have as many senders as receivers.
unsigned place_of_sender(unsigned pair, unsigned cpus) { return 2 * pair + 2 * pair / cpus; }

template<typename Tree>
class threaded_pair {
public:
    threaded_pair(Tree &tree, unsigned number, const path_shape &path, std::barrier<> &gate,
                  const std::atomic<bool> &stop)
        : tree_(tree), number_(number), path_(path), gate_(gate), stop_(stop), between_(path) {}

    void start(unsigned cpus) {
        const unsigned place = place_of_sender(number_, cpus);
        sends_ = std::thread([this, place] { send(place); });
        receives_ = std::thread([this, place] { receive(place + 1); });
    }
    void join() {
        sends_.join();
        receives_.join();
        between_.verify();
    }
    [[nodiscard]] std::uint64_t messages() const { return messages_; }

private:
    void send(unsigned place) {
        pin_to_nth_cpu(place);
        typename Tree::cpu cpu(tree_, 2 * number_);
        sender<typename Tree::cpu> from(cpu, between_, path_);
        gate_.arrive_and_wait();
        std::uint32_t windows = 0;
        while (!stop_.load(std::memory_order_relaxed)) {
            from.send(path_.messages_a_window());
            ++windows;
            announce(between_.sent, 2 * windows);
            await(between_.received, windows - 1);
        }
        announce(between_.sent, 2 * windows + 1);
        await(between_.received, windows);
        gate_.arrive_and_wait(); // the clock stops here
        from.finish();
        messages_ = from.messages();
    }
    void receive(unsigned place) {
        pin_to_nth_cpu(place);
        typename Tree::cpu cpu(tree_, 2 * number_ + 1);
        receiver<typename Tree::cpu> to(cpu, between_, path_);
        gate_.arrive_and_wait();
        for (std::uint32_t windows = 0;;) {
            std::uint32_t sent = between_.sent.load(std::memory_order_acquire);
            if (sent == 2 * windows) {
                between_.sent.wait(sent, std::memory_order_acquire);
                continue;
            }
            if (sent == 2 * windows + 1) break;
            to.receive(path_.messages_a_window());
            announce(between_.received, ++windows);
        }
        gate_.arrive_and_wait();
    }
    static void announce(std::atomic<std::uint32_t> &word, std::uint32_t value) {
        word.store(value, std::memory_order_release);
        word.notify_one();
    }
    // Until it is that far, or further.
    static void await(const std::atomic<std::uint32_t> &word, std::uint32_t least) {
        for (std::uint32_t seen; static_cast<std::int32_t>((seen = word.load(std::memory_order_acquire)) - least) < 0;)
            word.wait(seen, std::memory_order_acquire);
    }

    Tree &tree_;
    const unsigned number_;
    const path_shape &path_;
    std::barrier<> &gate_;
    const std::atomic<bool> &stop_;
    message_link between_;
    std::uint64_t messages_ = 0; // written by the sender's thread, read once it has been joined
    std::thread sends_, receives_;
};

template<typename Tree>
outcome pairs_timed(Tree &tree, const settings &s, const path_shape &path) {
    const unsigned cpus = std::max(std::thread::hardware_concurrency(), 1u);
    // stop: written by this thread, read by senders once a window; relaxed, since nothing else travels with it.
    std::atomic<bool> stop{false};
    std::barrier<> gate(static_cast<std::ptrdiff_t>(2 * s.pairs + 1));
    std::deque<threaded_pair<Tree>> pairs;
    for (unsigned i = 0; i < s.pairs; ++i) pairs.emplace_back(tree, i, path, gate, stop).start(cpus);
    gate.arrive_and_wait();
    outcome r;
    const stopwatch watch;
    std::this_thread::sleep_for(std::chrono::duration<double>(s.seconds));
    stop = true;
    gate.arrive_and_wait();
    watch.read(r);
    std::uint64_t charges = 0;
    for (threaded_pair<Tree> &p : pairs) {
        p.join();
        r.operations += p.messages();
        charges += charges_of_pairs(path, p.messages(), 1);
    }
    r.counted = tree.counted(charges);
    return r;
}

void print_line(const settings &s, const outcome &r) {
    const auto messages = static_cast<double>(r.operations);
    const auto each = [&](const char *name) { return static_cast<double>(count_named(r.counted, name)) / messages; };
    std::printf("page_pairs/%s %llu %s %.0f messages/s %.0f ns of CPU; a message: %.3f shared %.3f walks %.3f drains\n",
                s.variant.c_str(), static_cast<unsigned long long>(s.leaves != 0 ? s.leaves : s.pairs),
                s.leaves != 0 ? "leaves" : "pairs", messages / r.seconds, r.cpu_seconds / messages * 1e9,
                each("shared"), each("walks"), each("page_stock_drains"));
}

} // namespace

int main(int argc, char **argv) {
    settings s;
    const options o = s.declare();
    o.parse(argc, argv);
    s.check();
    keep_given_cpus();
    if (s.work_rounds == 0 && s.work > 0)
        s.work_rounds = s.iterations != 0 ? counted_work_rounds : std::max<std::uint64_t>(rounds_lasting(s.work), 1);
    const path_shape path = s.path();
    const outcome r = with_tree(s.variant, s.tree(), [&](auto &tree) {
        outcome done = s.leaves != 0       ? serve_leaves(tree, s, path)
                       : s.iterations != 0 ? pairs_counted(tree, s, path)
                                           : pairs_timed(tree, s, path);
        tree.verify_empty();
        return done;
    });
    if (s.json)
        std::printf("%s\n", json_of("page_pairs", o, r).c_str());
    else
        print_line(s, r);
    return 0;
}
