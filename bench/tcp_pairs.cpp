// tcp_pairs --pairs P --variant NAME: pairs of threads move messages over real loopback connections, from a file by
// sendfile to a buffer, and charge each message's pages as page_pairs does: the sender those that it sends, the receiver
// those that it receives, and the sender's after every 64 KiB, as acknowledgements do. Claim: what accounting costs next to
// real work of the kernel, in time. The variants differ by less than the network's own noise: compare runs in turn.
//
// The pages are charged to the variant's tree. What the kernel itself charges for the sockets is the same in every run.
// An operation is a message. A thread is a CPU of the engine. With --iterations each pair moves exactly so many messages.
#include "bench/experiment.hpp"
#include "bench/page_tree.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <atomic>
#include <barrier>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <limits>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace allot;
using namespace allot::bench;

namespace {

struct settings {
    std::uint64_t pairs = 1, message = 10 * 1024, ack = 64 * 1024, levels = 3, iterations = 0;
    std::string variant = "allot", acked_by = "receiver";
    double seconds = 1;
    bool is_protected = false, json = false;

    [[nodiscard]] options declare() {
        options o;
        o.number("--pairs", pairs);
        o.number("--message", message);
        o.number("--ack", ack);
        o.word("--acked-by", acked_by, {"receiver", "sender"});
        o.word("--variant", variant);
        o.number("--levels", levels);
        o.flag("--protected", is_protected);
        o.real("--seconds", seconds, 0.001, 3600);
        o.number("--iterations", iterations);
        o.flag("--json", json);
        return o;
    }
    void check() const {
        if (pairs > 512) fail("expected at most 512 pairs");
        if (message > 256 * 1024 || ack > 512 * 1024)
            fail("expected messages of at most 256K and an --ack of at most 512K");
        if (levels > 32) fail("expected at most 32 levels");
    }
    [[nodiscard]] std::uint32_t message_pages() const { return static_cast<std::uint32_t>((message + 4095) / 4096); }
    // Of so small messages that their pages come to a megabyte, fewer: no object is charged as many in one call.
    [[nodiscard]] std::uint32_t messages_an_ack() const {
        constexpr std::uint64_t most_pages = direct_charge_bytes / page_bytes - 1;
        return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(ack / message, 1, most_pages / message_pages()));
    }
};

[[noreturn]] void fail_by_errno(const char *what) { fail(std::string{what} + ": " + std::strerror(errno)); }

class descriptor {
public:
    descriptor() = default;
    descriptor(int number, const char *what) : number_(number) {
        if (number < 0) fail_by_errno(what);
    }
    descriptor(descriptor &&other) noexcept : number_(std::exchange(other.number_, -1)) {}
    descriptor &operator=(descriptor &&other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~descriptor() {
        if (number_ >= 0) close(number_);
    }
    [[nodiscard]] int number() const { return number_; }

private:
    int number_ = -1;
};

// On the loopback device and a port that is free.
class listener {
public:
    listener() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket") {
        address_.sin_family = AF_INET;
        address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t length = sizeof address_;
        if (bind(socket_.number(), plain(), length) != 0 || listen(socket_.number(), 16) != 0 ||
            getsockname(socket_.number(), plain(), &length) != 0)
            fail_by_errno("listening on the loopback device");
    }
    // Both ends of a new connection; one at a time, so that they belong together.
    std::pair<descriptor, descriptor> connect_pair() {
        descriptor out(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
        if (connect(out.number(), plain(), sizeof address_) != 0) fail_by_errno("connect");
        descriptor in(accept4(socket_.number(), nullptr, nullptr, SOCK_CLOEXEC), "accept");
        const int on = 1;
        setsockopt(out.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        return {std::move(out), std::move(in)};
    }

private:
    sockaddr *plain() { return reinterpret_cast<sockaddr *>(&address_); }
    descriptor socket_;
    sockaddr_in address_{};
};

// What is sent: a message's bytes, in memory.
descriptor make_file(std::uint64_t bytes) {
    descriptor file(memfd_create("message", MFD_CLOEXEC), "memfd_create");
    const std::vector<char> content(bytes, 'm');
    if (write(file.number(), content.data(), bytes) != static_cast<ssize_t>(bytes))
        fail_by_errno("writing the message");
    return file;
}

template<typename Tree>
class connection {
public:
    connection(Tree &tree, unsigned number, const settings &s, int file, std::pair<descriptor, descriptor> ends,
               std::barrier<> &gate, const std::atomic<bool> &stop)
        : tree_(tree), number_(number), settings_(s), file_(file), out_(std::move(ends.first)),
          in_(std::move(ends.second)), gate_(gate), stop_(stop) {}

    void start(unsigned cpus) {
        const unsigned place = 2 * number_ + 2 * number_ / cpus; // as in page_pairs
        sends_ = std::thread([this, place] { send(place); });
        receives_ = std::thread([this, place] { receive(place + 1); });
    }
    void join() {
        sends_.join();
        receives_.join();
        if (sent_ != received_) fail("what was received is not what was sent");
    }
    [[nodiscard]] std::uint64_t messages() const { return received_; }
    [[nodiscard]] std::uint64_t charges() const {
        const std::uint64_t an_ack = settings_.messages_an_ack();
        return 3 * received_ + received_ / an_ack + received_ % an_ack;
    }

private:
    using cpu_type = typename Tree::cpu;

    void send(unsigned place) {
        pin_to_nth_cpu(place);
        cpu_type cpu(tree_, 2 * number_);
        const auto message = cpu_type::amount_of(settings_.message_pages());
        const auto all_of_an_ack = cpu_type::amount_of(settings_.message_pages() * settings_.messages_an_ack());
        const bool takes_acks = settings_.acked_by == "sender";
        const std::uint64_t most =
            settings_.iterations != 0 ? settings_.iterations : std::numeric_limits<std::uint64_t>::max();
        std::uint64_t acks = 0;
        const auto take_acks = [&] {
            for (const std::uint64_t given = acks_.load(std::memory_order_acquire); acks < given; ++acks)
                cpu.uncharge(0, all_of_an_ack);
        };
        gate_.arrive_and_wait();
        for (; sent_ < most && !stop_.load(std::memory_order_relaxed); ++sent_) {
            if (takes_acks) take_acks();
            cpu.charge(0, message);
            send_message();
        }
        shutdown(out_.number(), SHUT_WR);
        gate_.arrive_and_wait(); // both have seen the end
        if (takes_acks) take_acks();
        for (std::uint64_t left = sent_ % settings_.messages_an_ack(); left > 0; --left) cpu.uncharge(0, message);
    }
    void send_message() {
        off_t at = 0;
        while (at < static_cast<off_t>(settings_.message)) {
            const ssize_t moved =
                sendfile(out_.number(), file_, &at, settings_.message - static_cast<std::uint64_t>(at));
            if (moved < 0 && errno != EINTR) fail_by_errno("sendfile");
        }
    }

    void receive(unsigned place) {
        pin_to_nth_cpu(place);
        cpu_type cpu(tree_, 2 * number_ + 1);
        const auto message = cpu_type::amount_of(settings_.message_pages());
        const auto all_of_an_ack = cpu_type::amount_of(settings_.message_pages() * settings_.messages_an_ack());
        const bool gives_acks = settings_.acked_by == "receiver";
        std::vector<char> buffer(settings_.message);
        gate_.arrive_and_wait();
        std::uint64_t acks = 0, since_ack = 0;
        while (receive_message(buffer)) {
            cpu.charge(0, message);
            ++received_;
            cpu.uncharge(0, message);
            if (++since_ack < settings_.messages_an_ack()) continue;
            since_ack = 0;
            if (gives_acks) cpu.uncharge(0, all_of_an_ack);
            acks_.store(++acks, std::memory_order_release);
        }
        gate_.arrive_and_wait();
    }
    // False: the end. A message that is cut short ends the program.
    bool receive_message(std::vector<char> &buffer) {
        std::size_t have = 0;
        while (have < buffer.size()) {
            const ssize_t got = recv(in_.number(), buffer.data() + have, buffer.size() - have, 0);
            if (got < 0 && errno == EINTR) continue;
            if (got < 0) fail_by_errno("recv");
            if (got == 0 && have == 0) return false;
            if (got == 0) fail("a message was cut short");
            have += static_cast<std::size_t>(got);
        }
        if (buffer[0] != 'm' || buffer.back() != 'm') fail("what was received is not what was sent");
        return true;
    }

    Tree &tree_;
    const unsigned number_;
    const settings &settings_;
    const int file_;
    const descriptor out_, in_;
    std::barrier<> &gate_;
    const std::atomic<bool> &stop_;
    // Written by the receiver, read by the sender: release and acquire, though nothing but the number is told.
    alignas(64) std::atomic<std::uint64_t> acks_{0};
    // Of one thread each, read by others once it has been joined.
    alignas(64) std::uint64_t sent_ = 0;
    alignas(64) std::uint64_t received_ = 0;
    std::thread sends_, receives_;
};

template<typename Tree>
outcome run(Tree &tree, const settings &s) {
    const unsigned cpus = std::max(std::thread::hardware_concurrency(), 1u);
    const descriptor file = make_file(s.message);
    // stop: written by this thread, read by senders; relaxed, since nothing else travels with it.
    std::atomic<bool> stop{false};
    std::barrier<> gate(static_cast<std::ptrdiff_t>(2 * s.pairs + 1));
    listener port;
    std::deque<connection<Tree>> all;
    for (unsigned i = 0; i < s.pairs; ++i)
        all.emplace_back(tree, i, s, file.number(), port.connect_pair(), gate, stop).start(cpus);
    gate.arrive_and_wait();
    outcome r;
    const stopwatch watch;
    if (s.iterations == 0) {
        std::this_thread::sleep_for(std::chrono::duration<double>(s.seconds));
        stop = true;
    }
    gate.arrive_and_wait();
    watch.read(r);
    std::uint64_t charges = 0;
    for (connection<Tree> &c : all) {
        c.join();
        r.operations += c.messages();
        charges += c.charges();
    }
    r.counted = tree.counted(charges);
    return r;
}

void print_line(const settings &s, const outcome &r) {
    const auto messages = static_cast<double>(r.operations);
    const double megabits = messages * static_cast<double>(s.message) * 8 / 1e6 / r.seconds;
    std::printf("tcp_pairs/%s %llu pairs %.0f Mbps %.0f messages/s %.0f ns of CPU; a message: %.3f shared %.3f walks\n",
                s.variant.c_str(), static_cast<unsigned long long>(s.pairs), megabits, messages / r.seconds,
                r.cpu_seconds / messages * 1e9, static_cast<double>(count_named(r.counted, "shared")) / messages,
                static_cast<double>(count_named(r.counted, "walks")) / messages);
}

} // namespace

int main(int argc, char **argv) {
    settings s;
    const options o = s.declare();
    o.parse(argc, argv);
    s.check();
    keep_given_cpus();
    const tree_shape shape{.cpus = static_cast<std::uint32_t>(2 * s.pairs),
                           .levels = static_cast<std::uint32_t>(s.levels),
                           .is_protected = s.is_protected};
    const outcome r = with_tree(s.variant, shape, [&](auto &tree) {
        outcome done = run(tree, s);
        tree.verify_empty();
        return done;
    });
    if (s.json)
        std::printf("%s\n", json_of("tcp_pairs", o, r).c_str());
    else
        print_line(s, r);
    return 0;
}
