// The page path of a socket: what sender and receiver of one connection charge for each message.
//
// It exists so that page_pairs, the test of its counts and the count of its instructions run the same loop. A message of
// 10 KiB fills 3 pages. Its sender charges them in one call, works for a while that nobody else has a part in, and puts it
// into a window. The receiver takes a whole window at a time: for each message it charges the pages anew, as a receive
// queue, works as long as the sender did, and gives them back; after 64 KiB, 6 messages, an acknowledgement lets all their pages of the sender's go in one
// call: on the sender's CPU or, the part `cross` of them, on the receiver's, as on a loopback device.
//
// A window is what lies charged and unacknowledged in between, so it decides how far a CPU's stock swings. The sender goes on
// while a window is received, for one more.
//
// Threads: a sender and a receiver are one thread's each; a message_link joins them. `pairs_in_turn` runs any number of pairs on one thread,
//   always in the same order: counts and instructions are then the same in every run.
// Owner: the caller. Invariants: 1. Everything charged is given back at the end.
//   2. What was received is what was sent: verify() of the link compares sums of what the work gave.
// Cost: without accounting, the work and about eighty instructions a message.
#pragma once

#include "bench/harness.hpp"
#include "bench/work.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <deque>
#include <vector>

namespace allot::bench {

enum class receive_charge : std::uint8_t { by_receiver, by_sender }; // whose CPU charges the receive queue

struct path_shape {
    std::uint32_t message_pages = 3, ack_pages = 18, window_pages = 128;
    double cross = 0.5;
    receive_charge receive = receive_charge::by_receiver;
    std::uint64_t work_rounds = 0; // of either side, a message

    [[nodiscard]] std::uint32_t messages_a_window() const { return std::max(1u, window_pages / message_pages); }
    [[nodiscard]] std::uint32_t messages_an_ack() const {
        return std::clamp(ack_pages / message_pages, 1u, messages_a_window());
    }
    // Of the nth acknowledgement. Spread evenly, and known to both sides without a word between them.
    [[nodiscard]] bool is_cross(std::uint64_t ack) const {
        const auto n = static_cast<double>(ack);
        return std::floor((n + 1) * cross) > std::floor(n * cross);
    }
};

// Between the two of a pair. Each word is written by one side, released after what it announces, acquired by the other.
class message_link {
public:
    explicit message_link(const path_shape &shape) : slots_(2 * shape.messages_a_window()) {}

    std::uint64_t &slot(std::uint64_t message) { return slots_[message % slots_.size()]; }

    // Windows sent, twice, and one more when there will be no other. By the sender; waited for by the receiver.
    alignas(64) std::atomic<std::uint32_t> sent{0};
    // Windows received. By the receiver; waited for by the sender, which goes on while at most one is not.
    alignas(64) std::atomic<std::uint32_t> received{0};
    // Acknowledgements, as they are given. By the receiver.
    std::atomic<std::uint64_t> acks{0};

    std::uint64_t sum_sent = 0, sum_received = 0; // of each side; compared when both are done
    void verify() const {
        if (sum_sent != sum_received) fail("what was received is not what was sent");
    }

private:
    std::vector<std::uint64_t> slots_;
};

template<typename Cpu>
class sender {
public:
    sender(Cpu &cpu, message_link &to, const path_shape &shape)
        : cpu_(cpu), link_(to), shape_(shape), message_(Cpu::amount_of(shape.message_pages)),
          ack_(Cpu::amount_of(shape.message_pages * shape.messages_an_ack())) {}

    void send(std::uint64_t messages) {
        std::uint64_t sum = 0;
        for (; messages > 0; --messages) {
            take_acks();
            cpu_.charge(0, message_);
            const std::uint64_t made = private_work(messages_, shape_.work_rounds);
            sum += made;
            link_.slot(messages_++) = made;
            if (shape_.receive == receive_charge::by_sender) cpu_.charge(0, message_);
        }
        link_.sum_sent += sum;
    }
    // When everything has been received: what no acknowledgement covers.
    void finish() {
        take_acks();
        const std::uint64_t left = messages_ - acks_ * shape_.messages_an_ack();
        for (std::uint64_t i = 0; i < left; ++i) cpu_.uncharge(0, message_);
    }
    [[nodiscard]] std::uint64_t messages() const { return messages_; }

private:
    void take_acks() {
        for (const std::uint64_t given = link_.acks.load(std::memory_order_acquire); acks_ < given; ++acks_)
            if (!shape_.is_cross(acks_)) cpu_.uncharge(0, ack_);
    }

    Cpu &cpu_;
    message_link &link_;
    const path_shape &shape_;
    const typename Cpu::amount message_, ack_;
    std::uint64_t messages_ = 0, acks_ = 0;
};

template<typename Cpu>
class receiver {
public:
    receiver(Cpu &cpu, message_link &from, const path_shape &shape)
        : cpu_(cpu), link_(from), shape_(shape), message_(Cpu::amount_of(shape.message_pages)),
          ack_(Cpu::amount_of(shape.message_pages * shape.messages_an_ack())) {}

    void receive(std::uint64_t messages) {
        std::uint64_t sum = 0;
        for (; messages > 0; --messages) {
            if (shape_.receive == receive_charge::by_receiver) cpu_.charge(0, message_);
            sum += link_.slot(messages_++);
            work_ ^= private_work(sum, shape_.work_rounds);
            cpu_.uncharge(0, message_);
            if (++since_ack_ == shape_.messages_an_ack()) acknowledge();
        }
        link_.sum_received += sum;
    }

private:
    void acknowledge() {
        since_ack_ = 0;
        if (shape_.is_cross(acks_)) cpu_.uncharge(0, ack_);
        link_.acks.store(++acks_, std::memory_order_release);
    }

    Cpu &cpu_;
    message_link &link_;
    const path_shape &shape_;
    const typename Cpu::amount message_, ack_;
    std::uint64_t messages_ = 0, acks_ = 0, work_ = 0;
    std::uint32_t since_ack_ = 0;
};

// Pairs that take turns on the calling thread: each sends a window, then receives it. CPU 2i is the ith sender's.
template<typename Tree>
class pairs_in_turn {
public:
    pairs_in_turn(Tree &tree, std::uint32_t pairs, const path_shape &shape) : shape_(shape) {
        for (std::uint32_t i = 0; i < pairs; ++i) pairs_.emplace_back(tree, 2 * i, shape);
    }
    ~pairs_in_turn() {
        for (pair &p : pairs_) {
            p.from.finish();
            p.between.verify();
        }
    }
    pairs_in_turn(const pairs_in_turn &) = delete;
    pairs_in_turn &operator=(const pairs_in_turn &) = delete;

    // Messages of each pair.
    void run(std::uint64_t messages) {
        while (messages > 0) {
            const std::uint64_t now = std::min<std::uint64_t>(messages, shape_.messages_a_window());
            for (pair &p : pairs_) {
                p.from.send(now);
                p.to.receive(now);
            }
            messages -= now;
        }
    }

private:
    struct pair {
        pair(Tree &tree, std::uint32_t first_cpu, const path_shape &shape)
            : sends(tree, first_cpu), receives(tree, first_cpu + 1), between(shape), from(sends, between, shape),
              to(receives, between, shape) {}
        typename Tree::cpu sends, receives;
        message_link between;
        sender<typename Tree::cpu> from;
        receiver<typename Tree::cpu> to;
    };
    const path_shape &shape_;
    std::deque<pair> pairs_;
};

// One thread that serves many leaves, as a CPU does that receives for many: in turn, or in an order of chance. Each message
// charges its leaf, and each acknowledgement, a few messages later, gives its leaf's pages back.
enum class leaf_order : std::uint8_t { in_turn, random };

template<typename Tree>
class leaf_server {
public:
    leaf_server(Tree &tree, std::uint32_t leaves, leaf_order order, const path_shape &shape)
        : cpu_(tree, 0), shape_(shape), order_(order), message_(Tree::cpu::amount_of(shape.message_pages)),
          ack_(Tree::cpu::amount_of(shape.message_pages * shape.messages_an_ack())), since_ack_(leaves) {}
    ~leaf_server() {
        for (std::uint32_t leaf = 0; leaf < since_ack_.size(); ++leaf)
            for (; since_ack_[leaf] > 0; --since_ack_[leaf]) cpu_.uncharge(leaf, message_);
    }
    leaf_server(const leaf_server &) = delete;
    leaf_server &operator=(const leaf_server &) = delete;

    // Of all leaves together.
    void run(std::uint64_t messages) {
        for (; messages > 0; --messages) {
            const std::uint32_t leaf = next_leaf();
            cpu_.charge(leaf, message_);
            sum_ += private_work(sum_, shape_.work_rounds);
            if (++since_ack_[leaf] == shape_.messages_an_ack()) {
                since_ack_[leaf] = 0;
                cpu_.uncharge(leaf, ack_);
                ++acks_;
            }
        }
    }
    [[nodiscard]] std::uint64_t acks() const { return acks_; }

private:
    std::uint32_t next_leaf() {
        const auto leaves = static_cast<std::uint32_t>(since_ack_.size());
        if (order_ == leaf_order::random) return random_.below(leaves);
        last_ = last_ + 1 < leaves ? last_ + 1 : 0;
        return last_;
    }

    typename Tree::cpu cpu_;
    const path_shape &shape_;
    const leaf_order order_;
    const typename Tree::cpu::amount message_, ack_;
    std::vector<std::uint32_t> since_ack_; // by leaf
    random_sequence random_{1};
    std::uint32_t last_ = 0;
    std::uint64_t sum_ = 0, acks_ = 0;
};

} // namespace allot::bench
