// xmalloc THREADS: half of the threads allocate (17 to 1024 bytes), the other half free, through a queue of batches of 100
// that anybody takes from: no object is freed by a thread that could be known beforehand (after the benchmark of C. Lever
// and D. Boreham, "malloc() performance in a multithreaded Linux environment", USENIX 2000). Claim: frees by strangers find
// their way home, and memory goes round. An operation is one object's way from malloc to free.
#include "bench/crew.hpp"
#include "bench/harness.hpp"

#include <array>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>

using namespace allot::bench;

namespace {

using batch = std::array<void *, 100>;

class batch_queue {
public:
    void put(const batch &b) {
        std::unique_lock lock{mutex_};
        has_room_.wait(lock, [this] { return batches_.size() < most; });
        batches_.push_back(b);
        has_some_.notify_one();
    }
    batch take() {
        std::unique_lock lock{mutex_};
        has_some_.wait(lock, [this] { return !batches_.empty(); });
        batch b = batches_.front();
        batches_.pop_front();
        has_room_.notify_one();
        return b;
    }

private:
    static constexpr std::size_t most = 64;
    std::mutex mutex_;
    std::condition_variable has_room_, has_some_;
    std::deque<batch> batches_;
};

struct state {
    batch_queue queue;
    std::vector<random_sequence> random;
    std::unique_ptr<crew> threads; // the first to go: its members use the rest
};

void produce(state &s, unsigned member, std::uint64_t rounds) {
    for (std::uint64_t i = 0; i < rounds; ++i) {
        batch b;
        for (void *&p : b) {
            p = std::malloc(mixed_size(s.random[member]));
            touch(p);
        }
        s.queue.put(b);
    }
}

void consume(state &s, std::uint64_t rounds) {
    for (std::uint64_t i = 0; i < rounds; ++i)
        for (void *p : s.queue.take()) std::free(p);
}

benchmark make(const arguments &words) {
    const std::uint64_t count = number(words[0]);
    if (count % 2 != 0 || count > 1024) fail("THREADS " + words[0] + ": expected an even number up to 1024");
    auto s = std::make_shared<state>();
    for (unsigned i = 0; i < count; ++i) s->random.emplace_back(i + 1);
    s->threads =
        std::make_unique<crew>(static_cast<unsigned>(count), [raw = s.get()](unsigned member, std::uint64_t rounds) {
            if (member % 4 == 0 || member % 4 == 3) // so that each CPU has both kinds
                produce(*raw, member, rounds);
            else
                consume(*raw, rounds);
        });
    return {.name = join("xmalloc", words),
            .operations_per_round = count / 2 * std::tuple_size_v<batch>,
            .run = [s](std::uint64_t rounds) { s->threads->work(rounds); },
            .clock = clock_kind::wall,
            .pin = pinning::none,
            .least_rounds = 64};
}

} // namespace

int main(int argc, char **argv) { return run(argc, argv, "THREADS", {"4"}, make); }
