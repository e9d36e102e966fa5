// larson THREADS: a server's churn. Each of THREADS sets of 1000 objects (16 to 1024 bytes, as many small as large ones) has
// a thread that replaces random ones; after 10,000 replacements the thread ends, and a new one takes over the set and frees
// what others have allocated (after P. Larson and M. Krishnan, "Memory allocation for long-running server applications",
// ISMM 1998). Claim: memory of threads that are gone is used again, at once and by anybody. An operation is one replacement.
#include "bench/harness.hpp"

#include <cstdlib>
#include <latch>
#include <memory>
#include <pthread.h>

using namespace allot::bench;

namespace {

constexpr std::size_t set_objects = 1000;
constexpr std::uint64_t life = 10000; // replacements of one thread

struct object_set {
    std::vector<void *> objects = std::vector<void *>(set_objects);
    random_sequence random;
    unsigned cpu;
    // Written by one thread of the chain before it makes the next, and by the last before it arrives at the latch.
    std::uint64_t generations_left = 0;
    pthread_t predecessor{};
    bool has_predecessor = false;
    std::latch *ended = nullptr;

    explicit object_set(unsigned number) : random{number + 1}, cpu{number} {
        for (void *&p : objects) p = std::malloc(mixed_size(random));
    }
    void clear() {
        for (void *&p : objects) {
            std::free(p);
            p = nullptr;
        }
    }
};

void start(object_set &s);

void *serve(void *argument) {
    object_set &s = *static_cast<object_set *>(argument);
    if (s.has_predecessor) pthread_join(s.predecessor, nullptr); // what it leaves to others it has left now
    pin_to_nth_cpu(s.cpu);
    for (std::uint64_t i = 0; i < life; ++i) {
        void *&p = s.objects[s.random.below(set_objects)];
        std::free(p);
        p = std::malloc(mixed_size(s.random));
        touch(p);
    }
    s.predecessor = pthread_self();
    s.has_predecessor = true;
    if (--s.generations_left != 0)
        start(s);
    else
        s.ended->count_down();
    return nullptr;
}

void start(object_set &s) {
    pthread_t thread;
    if (pthread_create(&thread, nullptr, serve, &s) != 0) fail("larson: cannot create a thread");
}

using object_sets = std::vector<std::unique_ptr<object_set>>;

void serve_all(object_sets &sets, std::uint64_t generations) {
    std::latch ended{static_cast<std::ptrdiff_t>(sets.size())};
    for (auto &s : sets) {
        s->generations_left = generations;
        s->has_predecessor = false;
        s->ended = &ended;
        start(*s);
    }
    ended.wait();
    for (auto &s : sets) pthread_join(s->predecessor, nullptr);
}

benchmark make(const arguments &words) {
    const std::uint64_t count = number(words[0]);
    if (count > 1024) fail("THREADS " + words[0] + ": at most 1024");
    auto sets = std::make_shared<object_sets>();
    for (unsigned i = 0; i < count; ++i) sets->push_back(std::make_unique<object_set>(i));
    return {.name = join("larson", words),
            .operations_per_round = count * life,
            .run = [sets](std::uint64_t rounds) { serve_all(*sets, rounds); },
            .clock = clock_kind::wall,
            .pin = pinning::none,
            .least_rounds = 2,
            .finish =
                [sets] {
                    for (auto &s : *sets) s->clear();
                }};
}

} // namespace

int main(int argc, char **argv) { return run(argc, argv, "THREADS", {"2"}, make); }
