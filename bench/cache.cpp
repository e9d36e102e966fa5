// cache scratch|thrash THREADS SIZE: each thread allocates an object of SIZE bytes, writes it again and again, and frees it.
// With scratch each thread first frees an object that one thread has allocated for all of them side by side. Claim: threads
// are not given memory in one line, neither by chance (thrash) nor because somebody handed them a part of one (scratch);
// after E. Berger et al., "Hoard", ASPLOS 2000. An operation is one pair with its 200 writes of the object.
#include "bench/crew.hpp"
#include "bench/harness.hpp"

#include <cstdlib>
#include <cstring>
#include <memory>

using namespace allot::bench;

namespace {

constexpr int writes = 200;

struct state {
    std::vector<void *> handed;
    std::unique_ptr<crew> threads;
};

void scribble(std::size_t size, std::uint64_t rounds) {
    for (std::uint64_t i = 0; i < rounds; ++i) {
        auto *bytes = static_cast<volatile unsigned char *>(std::malloc(size));
        for (int n = 0; n < writes; ++n)
            for (std::size_t at = 0; at < size; ++at) bytes[at] = static_cast<unsigned char>(bytes[at] + 1);
        std::free(const_cast<unsigned char *>(bytes));
    }
}

benchmark make(const arguments &words) {
    const bool is_scratch = words[0] == "scratch";
    if (!is_scratch && words[0] != "thrash") fail("\"" + words[0] + "\": expected scratch or thrash");
    const std::uint64_t count = number(words[1]);
    const std::size_t size = number(words[2]);
    if (count > 1024) fail("THREADS " + words[1] + ": at most 1024");
    auto s = std::make_shared<state>();
    s->handed.resize(count);
    s->threads = std::make_unique<crew>(static_cast<unsigned>(count),
                                        [raw = s.get(), size](unsigned member, std::uint64_t rounds) {
                                            std::free(raw->handed[member]);
                                            scribble(size, rounds);
                                        });
    return {.name = join("cache", words),
            .operations_per_round = count,
            .run =
                [s, size, is_scratch](std::uint64_t rounds) {
                    for (void *&p : s->handed) {
                        p = is_scratch ? std::malloc(size) : nullptr;
                        if (p != nullptr) std::memset(p, 0, size);
                    }
                    s->threads->work(rounds);
                },
            .clock = clock_kind::wall,
            .pin = pinning::none,
            .least_rounds = 1024};
}

} // namespace

int main(int argc, char **argv) { return run(argc, argv, "scratch|thrash THREADS SIZE", {"scratch", "2", "8"}, make); }
