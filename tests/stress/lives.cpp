// The lives of blocks under everything that moves memory about: units that stay cut, grow, move and go back to the system, by a
// clock that says at once, soon and never.
//
// How it shows it: a model beside the allocator. Each block is filled to its last usable byte with a pattern of its own, and
// carries how much of it there is; it is looked at before each realloc, after it, and before it is freed, by whichever
// thread. What calloc gives is looked at in whole. A refused realloc leaves block and pattern. Threads hand blocks to each other,
// give them to other tenants, end, and are replaced in the next round; tenants end with their blocks; children are forked
// amid it, and use what they inherited. After each round everything stands still: the recount finds no difference, and what the
// root pays for is the sum of what lives. Parents of tenants have limits, and are asked all the time whether they keep them.
//
// Exit status 0: all that held. 1: something did not, named on stderr. 2: a wrong argument.
#include "accounting/accounting.hpp"
#include "accounting/tenant.hpp"
#include "accounting/tenant_files.hpp"
#include "alloc/alloc.hpp"
#include "alloc/memory_figures.hpp"
#include "alloc/transfer.hpp"
#include "tests/support/arguments.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <random>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace allot;

namespace {

struct settings {
    std::uint64_t operations = 1000000;
    unsigned threads = 4;
    unsigned seed = 1;
};

struct block {
    unsigned char *p = nullptr;
    std::size_t bytes = 0; // filled
    unsigned char pattern = 0;
};

constexpr std::size_t kib = 1024, mib = 1024 * kib;

[[noreturn]] void wrong(const char *what, const void *p, std::size_t at) {
    std::fprintf(stderr, "lives: %s: block %p, byte %zu\n", what, p, at);
    std::abort();
}

// A few bytes of each page, and both ends: a memory of megabytes is not read in whole each time.
constexpr std::size_t stride = 509;

void fill(block &b, std::size_t bytes, unsigned char pattern) {
    b.bytes = bytes;
    b.pattern = pattern;
    std::memset(b.p, pattern, bytes);
}
void look(const char *when, const block &b, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; at += stride)
        if (b.p[at] != b.pattern) wrong(when, b.p, at);
    if (bytes != 0 && b.p[bytes - 1] != b.pattern) wrong(when, b.p, bytes - 1);
}
void look_for_zeros(const unsigned char *p, std::size_t bytes) {
    if (bytes == 0 || (p[0] == 0 && std::memcmp(p, p + 1, bytes - 1) == 0)) return;
    wrong("calloc gave what is not zero", p,
          static_cast<std::size_t>(std::find_if(p, p + bytes, [](int c) { return c != 0; }) - p));
}

class lives {
public:
    explicit lives(const settings &s) : settings_(s) {
        for (std::size_t i = 0; i < parents_.size(); ++i) {
            std::string path = "/lives" + std::to_string(i);
            parents_[i] = tenant_create_path(path.c_str());
            const char *max = i == 0 ? "max" : i == 1 ? "24M" : "3M";
            if (parents_[i] == nullptr || tenant_set(parents_[i], "memory.max", max) != 0) std::abort();
        }
        for (std::size_t i = 0; i < tenants_.size(); ++i) tenants_[i] = new_tenant(i);
    }

    int run() {
        constexpr std::uint64_t of_a_life = 4000;
        std::uint64_t rounds = std::max<std::uint64_t>(1, settings_.operations / (of_a_life * settings_.threads));
        for (std::uint64_t round = 0; round < rounds; ++round) {
            set_purge(round);
            std::vector<std::thread> threads;
            for (unsigned t = 0; t < settings_.threads; ++t)
                threads.emplace_back([this, round, t] {
                    live(settings_.seed * 7919u + static_cast<unsigned>(round) * 131u + t, of_a_life);
                });
            for (int i = 0; i < 8; ++i) read_figures();
            fork_amid();
            for (std::thread &t : threads) t.join();
            judge("after a round", false);
        }
        for (std::vector<block> &box : boxes_)
            for (block &b : box) end(b);
        boxes_ = {};
        judge("at the end", true);
        std::printf("%llu resizes, %llu refused, %llu zeros, %llu transfers, %llu tenants ended, %llu children\n",
                    number(resizes_), number(refusals_), number(zeros_), number(transfers_), number(ended_),
                    number(children_));
        return resizes_ == 0 || refusals_ == 0 || zeros_ == 0 || transfers_ == 0 || ended_ == 0 ? 1 : 0;
    }

private:
    static unsigned long long number(const std::atomic<std::uint64_t> &n) { return n; }

    static void set_purge(std::uint64_t round) {
        constexpr std::uint64_t delays[] = {0, 8, unlimited, 1000};
        heap_set_purge(delays[round % 4], round % 3 == 0 ? 4 * mib : 0);
    }

    allot_tenant *new_tenant(std::size_t i) {
        std::string path = "/lives" + std::to_string(i % parents_.size()) + "/t" + std::to_string(next_name_++);
        return tenant_create_path(path.c_str());
    }

    // Asked at any moment, by anybody.
    void ask_limits() const {
        constexpr std::uint64_t max[] = {~std::uint64_t{0}, 24 * mib, 3 * mib};
        for (std::size_t i = 1; i < parents_.size(); ++i)
            if (usage(tenant_from(parents_[i])->counter) > max[i]) wrong("a tenant is above its limit", nullptr, i);
    }

    // --- a thread ---------------------------------------------------------------------------------------------------

    void live(unsigned seed, std::uint64_t operations) {
        std::mt19937 random(seed);
        std::vector<block> mine(48);
        for (std::uint64_t i = 0; i < operations; ++i) {
            if (i % 32 == 0) {
                heap_set_active(tenants_[random() % tenants_.size()]);
                ask_limits();
            }
            block &b = mine[random() % mine.size()];
            unsigned what = random() % 1000;
            if (what < 4)
                (void)heap_trim(random() % 8 * mib);
            else if (what < 10)
                end_tenant(random() % tenants_.size());
            else if (b.p == nullptr)
                begin(b, random);
            else if (what < 600)
                resize(b, random);
            else if (what < 640)
                give_away(b, random);
            else if (what < 760)
                exchange(b, random);
            else
                end(b);
        }
        std::lock_guard guard(boxes_lock_);
        for (block &b : mine)
            if (b.p != nullptr) boxes_[random() % boxes_.size()].push_back(b);
    }

    static std::size_t any_size(std::mt19937 &random) {
        unsigned what = random() % 8;
        if (what == 0) return 200 * kib + random() % (mib + mib / 2); // whole units, and a part of one
        return 1 + random() % (std::size_t{1} << (4 + random() % 15));
    }

    void begin(block &b, std::mt19937 &random) {
        std::size_t size = any_size(random);
        unsigned how = random() % 4;
        void *p = how == 0   ? heap_aligned_alloc(std::size_t{16} << (random() % 16), size)
                  : how == 1 ? heap_malloc(size)
                             : heap_calloc(1, size);
        if (p == nullptr) {
            refusals_++;
            return;
        }
        b.p = static_cast<unsigned char *>(p);
        if (how > 1) {
            look_for_zeros(b.p, size);
            zeros_++;
        }
        fill(b, fill_size(b, size, random), static_cast<unsigned char>(1 + random() % 255));
    }

    // Programs use what malloc_usable_size says; some leave a part alone.
    static std::size_t fill_size(const block &b, std::size_t size, std::mt19937 &random) {
        unsigned how = random() % 4;
        return how == 0 ? size / 2 : how == 1 ? size : heap_usable_size(b.p);
    }

    void resize(block &b, std::mt19937 &random) {
        std::size_t usable = heap_usable_size(b.p), size = any_size(random);
        if (random() % 4 != 0) size = usable + usable / 8 + 1; // most grow by a little
        if (size > 4 * mib) return end(b);
        look("before a resize", b, b.bytes);
        void *p = heap_realloc(b.p, size);
        resizes_++;
        if (p == nullptr) {
            refusals_++;
            if (heap_usable_size(b.p) != usable) wrong("a refused block has another size", b.p, usable);
            return look("after a refused resize", b, b.bytes);
        }
        b.p = static_cast<unsigned char *>(p);
        look("after a resize", b, std::min(b.bytes, size));
        if (heap_usable_size(p) < size) wrong("a block is too small", p, size);
        fill(b, fill_size(b, size, random), b.pattern);
    }

    void give_away(const block &b, std::mt19937 &random) {
        if (heap_transfer(b.p, tenants_[random() % tenants_.size()]) == 0) transfers_++;
    }

    // With another thread's: what comes is resized and freed far from where it was made.
    void exchange(block &b, std::mt19937 &random) {
        std::lock_guard guard(boxes_lock_);
        std::vector<block> &to = boxes_[random() % boxes_.size()], &from = boxes_[random() % boxes_.size()];
        to.push_back(b);
        b = from.empty() ? block{} : from.back();
        if (!from.empty()) from.pop_back();
    }

    static void end(block &b) {
        look("before a free", b, b.bytes);
        heap_free(b.p);
        b = {};
    }

    void end_tenant(std::size_t i) {
        allot_tenant *next = new_tenant(i);
        if (next == nullptr) return; // there is no room for more names
        if (tenant_destroy(tenants_[i].exchange(next)) == 0) ended_++;
    }

    // --- everything else --------------------------------------------------------------------------------------------

    // Whoever reads while others work sees each block as it is at some moment, or not at all.
    static void read_figures() {
        heap_statistics now = heap_statistics_get();
        if (now.live_bytes > now.mapped_bytes + 64 * mib) wrong("more lives than there is", nullptr, now.live_bytes);
        memory_figures own = memory_figures_get();
        if (own.cache > own.resident) wrong("more is kept than there is", nullptr, own.cache);
    }

    // A child has zeros from calloc, inherits contents, and pays for nothing that it inherited.
    void fork_amid() {
#if !defined(__SANITIZE_THREAD__)
        block inherited;
        inherited.p = static_cast<unsigned char *>(heap_malloc(700 * kib));
        if (inherited.p == nullptr) return;
        fill(inherited, 700 * kib, 0x77);
        pid_t child = fork();
        if (child == 0) {
            alarm(60);
            for (std::size_t size : {100ul, 5000ul, 70000ul, 3000000ul}) {
                auto *p = static_cast<unsigned char *>(heap_calloc(1, size));
                if (p == nullptr) _exit(2);
                look_for_zeros(p, size);
                std::memset(p, 1, size);
                heap_free(p);
            }
            inherited.p = static_cast<unsigned char *>(heap_realloc(inherited.p, mib + 1));
            look("in a child", inherited, 700 * kib);
            heap_free(inherited.p);
            _exit(verify().differences == 0 ? 0 : 3);
        }
        int status = 0;
        if (child < 0 || waitpid(child, &status, 0) != child) std::abort();
        if (status != 0) wrong("a child ended with another status", nullptr, static_cast<std::size_t>(status));
        children_++;
        end(inherited);
#endif
    }

    void judge(const char *when, bool is_end) {
        verify_result result = verify();
        if (result.differences != 0) {
            std::fprintf(stderr, "lives: %s the recount differs: %s\n", when, result.first);
            std::exit(1);
        }
        std::uint64_t usable = 0;
        for (const std::vector<block> &box : boxes_)
            for (const block &b : box) {
                look("at rest", b, b.bytes);
                usable += heap_usable_size(b.p);
            }
        std::uint64_t charged = tenant_current(tenant_root());
        if (charged != usable || (is_end && charged != 0)) {
            std::fprintf(stderr, "lives: %s %llu bytes live and %llu are charged\n", when,
                         static_cast<unsigned long long>(usable), static_cast<unsigned long long>(charged));
            std::exit(1);
        }
    }

    settings settings_;
    std::array<allot_tenant *, 3> parents_{};
    // Written and read by any thread; seq_cst, for no better reason than that it costs nothing here.
    std::array<std::atomic<allot_tenant *>, 12> tenants_{};
    std::mutex boxes_lock_;
    std::array<std::vector<block>, 8> boxes_; // under the lock
    std::atomic<unsigned> next_name_{0};
    std::atomic<std::uint64_t> resizes_{0}, refusals_{0}, zeros_{0}, transfers_{0}, ended_{0}, children_{0};
};

} // namespace

int main(int argc, char **argv) {
    settings s;
    for (int i = 1; i < argc; i += 2) {
        std::string name = argv[i];
        std::uint64_t value = number_of("lives", i + 1 < argc ? argv[i + 1] : "");
        if (name == "--operations")
            s.operations = value;
        else if (name == "--threads")
            s.threads = static_cast<unsigned>(value);
        else if (name == "--seed")
            s.seed = static_cast<unsigned>(value);
        else {
            std::fprintf(stderr, "lives: %s: expected --operations, --threads or --seed\n", argv[i]);
            return 2;
        }
    }
    if (!accounting_start()) return 1;
    return lives(s).run();
}
