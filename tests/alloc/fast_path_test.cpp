#define BOOST_TEST_MODULE fast_path
#include <boost/test/unit_test.hpp>

#include "alloc/fast_path.hpp"
#include "tests/support/allocated.hpp"

#include <atomic>
#include <barrier>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

using namespace allot;

namespace {

constexpr std::size_t kib = 1024, mib = kib * kib;

// --- the model: what lives, and for whom, kept beside the allocator ---------------------------------------------------

struct model_tenant {
    model_tenant *parent;
    std::uint64_t max;
    allot_tenant *handle;
    std::atomic<std::int64_t> live{0}; // of the subtree: no less than what lives at any time
};

struct block {
    unsigned char *at;
    std::size_t size, usable;
    model_tenant *owner;
    unsigned char pattern;
};

class model {
public:
    std::atomic<std::uint64_t> operations{0}, refusals{0}, wrong_contents{0}, wrong_owners{0}, overshoots{0};

    explicit model(unsigned seed) : seed_(seed) {
        model_tenant *top = add(nullptr, "/case", 48 * mib);
        for (const char *group : {"a", "b", "c"}) {
            model_tenant *parent = add(top, std::string("/case/") + group, 20 * mib);
            for (int i = 0; i < 4; ++i)
                leaves_.push_back(
                    add(parent, std::string("/case/") + group + "/" + std::to_string(i), (2 + 3u * i) * mib));
        }
    }

    // Each thread lives several lives: it ends, with objects of its own left to others, and another one begins.
    void run(unsigned nr_threads, unsigned lives, unsigned steps) {
        std::vector<std::thread> threads;
        for (unsigned t = 0; t < nr_threads; ++t)
            threads.emplace_back([=, this] {
                for (unsigned life = 0; life < lives; ++life)
                    std::thread([=, this] { live(seed_ + 1000 * t + life, steps); }).join();
            });
        for (std::thread &t : threads) t.join();
    }

    // No thread is inside: what the allocator says of each tenant is what the model says.
    void compare() {
        for (const auto &t : tenants_) BOOST_TEST(static_cast<std::int64_t>(tenant_current(t->handle)) == t->live);
    }
    void free_what_is_left() {
        for (block &b : market_) free(b);
        market_.clear();
    }

private:
    model_tenant *add(model_tenant *parent, const std::string &path, std::uint64_t max) {
        tenants_.push_back(std::make_unique<model_tenant>());
        model_tenant *t = tenants_.back().get();
        t->parent = parent;
        t->max = max;
        t->handle = verified::make(path.c_str(), std::to_string(max).c_str());
        return t;
    }

    static std::size_t a_size(std::mt19937 &random) {
        unsigned kind = random() % 1000;
        if (kind < 700) return 1 + random() % 256;
        if (kind < 930) return 1 + random() % (8 * kib);
        if (kind < 985) return 1 + random() % (128 * kib);
        return 1 + random() % (2 * mib);
    }

    void note(model_tenant *t, std::int64_t bytes) {
        for (; t != nullptr; t = t->parent)
            if ((t->live += bytes) > static_cast<std::int64_t>(t->max)) overshoots++;
    }

    bool check(const block &b) {
        bool same = is_filled(b.at, b.size, b.pattern);
        if (!same) wrong_contents++;
        if (heap_owner_of(b.at) != b.owner->handle || heap_usable_size(b.at) != b.usable) wrong_owners++;
        return same;
    }

    void free(const block &b) {
        check(b);
        note(b.owner, -static_cast<std::int64_t>(b.usable)); // before: the model is never above what lives
        if (b.size % 2 == 0)
            fast_free(b.at);
        else
            heap_free_sized(b.at, b.size);
        operations++;
    }

    // Fills it, and takes it into the books.
    void born(void *p, std::size_t size, model_tenant *owner, std::mt19937 &random, std::vector<block> &mine) {
        block b{static_cast<unsigned char *>(p), size, heap_usable_size(p), owner,
                static_cast<unsigned char>(random())};
        std::memset(p, b.pattern, size);
        note(owner, static_cast<std::int64_t>(b.usable));
        mine.push_back(b);
    }

    void allocate(model_tenant *active, std::mt19937 &random, std::vector<block> &mine) {
        std::size_t size = a_size(random);
        unsigned how = random() % 10;
        void *p = how < 7   ? fast_malloc(size)
                  : how < 9 ? heap_calloc(1, size)
                            : heap_aligned_alloc(std::size_t{1} << random() % 20, size);
        operations++;
        if (p == nullptr) {
            refusals++;
            return;
        }
        if (how >= 7 && how < 9 && !is_filled(p, size, 0)) wrong_contents++;
        born(p, size, active, random, mine);
    }

    void reallocate(model_tenant *active, std::mt19937 &random, std::vector<block> &mine) {
        if (mine.empty()) return;
        std::swap(mine[random() % mine.size()], mine.back());
        block b = mine.back();
        if (!check(b)) return;
        std::size_t size = a_size(random);
        mine.pop_back();
        note(b.owner, -static_cast<std::int64_t>(b.usable));
        void *p = heap_realloc(b.at, size);
        operations++;
        if (p == nullptr) {
            refusals++;
            note(b.owner, static_cast<std::int64_t>(b.usable));
            mine.push_back(b);
            return;
        }
        if (!is_filled(p, size < b.size ? size : b.size, b.pattern)) wrong_contents++;
        born(p, size, p == b.at ? b.owner : active, random, mine); // in place it stays its owner's
    }

    void trade(std::mt19937 &random, std::vector<block> &mine) {
        std::lock_guard<std::mutex> guard(mutex_);
        if (!mine.empty()) {
            std::swap(mine[random() % mine.size()], mine.back());
            market_.push_back(mine.back());
            mine.pop_back();
        }
        if (market_.size() > 50) {
            std::swap(market_[random() % market_.size()], market_.back());
            mine.push_back(market_.back());
            market_.pop_back();
        }
    }

    void live(unsigned seed, unsigned steps) {
        std::mt19937 random(seed);
        std::vector<block> mine;
        model_tenant *active = leaves_[random() % leaves_.size()];
        heap_set_active(active->handle);
        for (unsigned i = 0; i < steps; ++i) {
            unsigned what = random() % 1000;
            if (what < 20) {
                active = leaves_[random() % leaves_.size()];
                heap_set_active(active->handle);
            } else if (what < 480) {
                allocate(active, random, mine);
            } else if (what < 560) {
                reallocate(active, random, mine);
            } else if (what < 700) {
                trade(random, mine);
            } else if (what < 998) {
                if (mine.empty()) continue;
                std::swap(mine[random() % mine.size()], mine.back());
                block b = mine.back();
                mine.pop_back();
                free(b);
            } else {
                heap_trim(random() % (4 * mib));
            }
        }
        std::lock_guard<std::mutex> guard(mutex_);
        market_.insert(market_.end(), mine.begin(), mine.end()); // for others to free
    }

    unsigned seed_;
    std::vector<std::unique_ptr<model_tenant>> tenants_;
    std::vector<model_tenant *> leaves_;
    std::mutex mutex_;
    std::vector<block> market_;
};

// More by hand: STRESS_ROUNDS.
unsigned rounds() {
    const char *given = std::getenv("STRESS_ROUNDS");
    return given == nullptr ? 3 : static_cast<unsigned>(std::atoi(given));
}

} // namespace

BOOST_FIXTURE_TEST_CASE(every_size_takes_the_same_slot_again_and_again, allocated) {
    heap_set_active(tenant_default());
    for (std::size_t size = 0; size <= medium_max_bytes; size += size < 1200 ? 1 : 997) {
        void *keep = fast_malloc(size), *first = fast_malloc(size);
        fast_free(first);
        for (int i = 0; i < 3; ++i) {
            void *p = fast_malloc(size);
            BOOST_TEST_REQUIRE(p == first);
            fast_free(p);
        }
        fast_free(keep);
    }
    heap_set_active(top);
}

// Threads, three levels with limits, sizes from 1 byte to 2 MiB, frees by others, ends of threads, switches of tenants,
// refusals and trims: contents are checked at every step, the books whenever all threads have ended.
BOOST_FIXTURE_TEST_CASE(random_lives_agree_with_the_model, allocated) {
    for (unsigned round = 0; round < rounds(); ++round) {
        model m(7 + 100 * round);
        m.run(4, 3, 15000);
        m.compare();
        verify_result quiet = verify();
        BOOST_TEST(quiet.differences == 0u, quiet.first);
        m.free_what_is_left();
        m.compare();
        BOOST_TEST(tenant_current(top) == 0u);
        BOOST_TEST(m.wrong_contents == 0u);
        BOOST_TEST(m.wrong_owners == 0u);
        BOOST_TEST(m.overshoots == 0u);
        BOOST_TEST(m.operations > 10000u);
        BOOST_TEST(m.refusals > 10u); // limits were met
        BOOST_TEST_MESSAGE(m.operations << " operations, " << m.refusals << " refusals");
    }
}
