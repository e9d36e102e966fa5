// A crowd of threads that charge and uncharge over a tree with limits, in the ways that have broken drains elsewhere:
// idle threads that hold stock, threads that end, objects freed on other threads, three levels and disjoint subtrees.
//
// With `pools`, each limited level has a pool of tokens as large as its limit, and who charges has taken tokens of every
// level before: what is asked for always fits, so each refusal is a false one. Without, threads charge until they are
// refused, and what lives is counted: more than a limit is an overshoot.
#pragma once

#include "accounting/accounting.hpp"
#include "tests/support/verified.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

class crowd {
public:
    enum class pools { given, none };
    struct level {
        level *parent;
        std::int64_t max;
        allot_tenant *tenant;
        std::atomic<std::int64_t> tokens{0}; // left to take
        std::atomic<std::int64_t> live{0};   // at least what lives
    };
    struct counts {
        std::atomic<std::uint64_t> operations{0}, refusals{0}, overshoots{0};
    };

    explicit crowd(pools p) : pools_(p) {}

    level *add(level *parent, const char *path, std::int64_t max) {
        levels_.emplace_back();
        level &l = levels_.back();
        l.parent = parent;
        l.max = max;
        l.tokens = max;
        l.tenant = verified::make(path, std::to_string(max).c_str());
        return &l;
    }

    // nr_threads on each of the leaves, for that long; some end and are replaced meanwhile.
    void run(const std::vector<level *> &leaves, int nr_threads, std::chrono::milliseconds time) {
        stop_ = false;
        auto end = std::chrono::steady_clock::now() + time;
        std::vector<std::thread> threads;
        for (int i = 0; i < nr_threads; ++i)
            threads.emplace_back([this, &leaves, i, end] {
                for (unsigned life = 0; std::chrono::steady_clock::now() < end && !stop_; ++life)
                    live(leaves, static_cast<unsigned>(i) + 1000 * life, end);
            });
        for (std::thread &t : threads) t.join();
        empty_hand_over();
    }
    void stop() { stop_ = true; }

    counts found;

private:
    struct object {
        level *from;
        std::int64_t bytes;
        bool direct;
    };

    bool take_tokens(level *l, std::int64_t bytes) {
        if (pools_ == pools::none) return true;
        for (level *at = l; at != nullptr; at = at->parent) {
            if (at->tokens.fetch_sub(bytes) >= bytes) continue;
            for (level *undo = l;; undo = undo->parent) {
                undo->tokens += bytes;
                if (undo == at) return false;
            }
        }
        return true;
    }
    void give_tokens(level *l, std::int64_t bytes) {
        if (pools_ == pools::given)
            for (level *at = l; at != nullptr; at = at->parent) at->tokens += bytes;
    }
    void note_live(level *l, std::int64_t bytes) {
        for (level *at = l; at != nullptr; at = at->parent)
            if ((at->live += bytes) > at->max) found.overshoots++;
    }

    bool allocate(allot::context *c, level *l, std::int64_t bytes, object &made) {
        if (!take_tokens(l, bytes)) return false;
        bool direct = bytes >= static_cast<std::int64_t>(allot::direct_charge_bytes);
        bool covered = direct ? allot::charge_bytes(allot::obj_cgroup_of(l->tenant), static_cast<std::uint64_t>(bytes),
                                                    allot::charge_kind::large)
                              : charge(c, bytes);
        found.operations++;
        if (!covered) {
            found.refusals++;
            give_tokens(l, bytes);
            return false;
        }
        note_live(l, bytes);
        made = {l, bytes, direct};
        return true;
    }
    void free(allot::context *c, const object &o) {
        for (level *at = o.from; at != nullptr; at = at->parent) at->live -= o.bytes;
        if (o.direct)
            allot::uncharge_bytes(allot::obj_cgroup_of(o.from->tenant), static_cast<std::uint64_t>(o.bytes),
                                  allot::charge_kind::large);
        else
            uncharge(c, o.bytes);
        found.operations++;
        give_tokens(o.from, o.bytes); // only now: until then the bytes are charged
    }

    // One thread's life: contexts of every leaf, objects of its own, and some of others.
    void live(const std::vector<level *> &leaves, unsigned seed, std::chrono::steady_clock::time_point end) {
        std::mt19937 random(seed);
        std::vector<allot::context *> contexts;
        for (level *l : leaves) contexts.push_back(allot::context_open(allot::obj_cgroup_of(l->tenant)));
        auto context_for = [&](level *l) {
            for (std::size_t i = 0; i < leaves.size(); ++i)
                if (leaves[i] == l) return contexts[i];
            return static_cast<allot::context *>(nullptr);
        };
        std::vector<object> mine;
        unsigned operations = 2000 + random() % 20000;
        for (unsigned i = 0; i < operations && !stop_; ++i) {
            if (i % 64 == 0 && std::chrono::steady_clock::now() >= end) break;
            unsigned what = random() % 1000;
            if (what < 500) {
                level *l = leaves[random() % leaves.size()];
                object made;
                if (allocate(context_for(l), l, size(random), made)) mine.push_back(made);
            } else if (what < 985 && !mine.empty()) {
                std::swap(mine[random() % mine.size()], mine.back());
                object o = mine.back();
                mine.pop_back();
                if (what < 560)
                    hand_over(o);
                else
                    free(context_for(o.from), o);
            } else if (what < 995) {
                object o;
                if (take_over(o)) free(context_for(o.from), o);
            } else if (what < 997) { // all at once, and then idle with a full stock
                for (const object &o : mine) free(context_for(o.from), o);
                mine.clear();
                std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
            }
        }
        for (const object &o : mine) free(context_for(o.from), o);
        for (allot::context *c : contexts) allot::context_close(c);
    }

    static std::int64_t size(std::mt19937 &random) {
        unsigned kind = random() % 100;
        if (kind < 70) return 16 * (1 + random() % 64);
        if (kind < 97) return 1024 * (1 + random() % 32);
        if (kind < 99) return 65536 * (1 + random() % 4);
        return static_cast<std::int64_t>(allot::direct_charge_bytes) + 4096;
    }

    void hand_over(const object &o) {
        std::lock_guard<std::mutex> guard(mutex_);
        handed_over_.push_back(o);
    }
    bool take_over(object &o) {
        std::lock_guard<std::mutex> guard(mutex_);
        if (handed_over_.empty()) return false;
        o = handed_over_.front();
        handed_over_.pop_front();
        return true;
    }
    void empty_hand_over() {
        object o;
        while (take_over(o)) {
            allot::context *c = allot::context_open(allot::obj_cgroup_of(o.from->tenant));
            free(c, o);
            allot::context_close(c);
        }
    }

    const pools pools_;
    std::deque<level> levels_;
    std::atomic<bool> stop_{false};
    std::mutex mutex_;
    std::deque<object> handed_over_;
};

// How long such a test runs: a moment by default, longer by hand (CROWD_SECONDS).
inline std::chrono::milliseconds crowd_time(int milliseconds) {
    const char *seconds = std::getenv("CROWD_SECONDS");
    return std::chrono::milliseconds(seconds == nullptr ? milliseconds : 1000 * std::atoi(seconds));
}
