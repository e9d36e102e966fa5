// Exactness under everything at once, through the C API: threads of many tenants in a tree of three levels allocate, hand
// objects over, free those of others, end and are replaced, while limits move and tenants come and go.
//
//     exactness [--operations N] [--threads N] [--tenants N] [--seed N]
//
// Two kinds of groups, told apart by what can be asserted of them:
//   reserved  each level has a pool of tokens as large as its limit. Who allocates has taken tokens for the usable size at
//             every level before, and gives them back after the free: whatever is asked for fits, so that each refusal is a
//             false one.
//   crowded   threads allocate until they are refused. What lives is counted by level, after the allocation and until
//             before the free: a sum above the limit is an overshoot.
// At the end everything is freed: a recount must find no difference, and every tenant must stand at zero.
//
// Exit status 0: no false refusal, no overshoot, no drift. 1: one of them, named on stderr. 2: a wrong argument.
#include "tests/support/arguments.hpp"

#include <allot/alloc.h>
#include <allot/tenant.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

struct settings {
    std::uint64_t operations = 2000000;
    unsigned threads = 64;
    unsigned tenants = 1000; // leaves
    unsigned seed = 1;
};

enum class group_kind { reserved, crowded };

// One tenant of the tree. Counters are changed by every thread, relaxed: each is a sum that is only compared with a bound
// that holds in every order.
struct level {
    level *parent = nullptr;
    allot_tenant *tenant = nullptr;
    group_kind kind = group_kind::reserved;
    std::int64_t max = 0;
    std::atomic<std::int64_t> tokens{0};
    std::atomic<std::int64_t> live{0};
};

struct object {
    void *block = nullptr;
    level *owner = nullptr;
    std::int64_t bytes = 0;
};

struct counts {
    std::atomic<std::uint64_t> operations{0}, refusals{0}, false_refusals{0}, overshoots{0}, remote_frees{0},
        limit_changes{0}, destroyed{0}, ended{0};
};

// Objects on their way to another thread.
class mailbox {
public:
    void put(const object &o) {
        std::lock_guard guard(mutex_);
        objects_.push_back(o);
    }
    std::optional<object> take() {
        std::lock_guard guard(mutex_);
        if (objects_.empty()) return std::nullopt;
        object o = objects_.front();
        objects_.pop_front();
        return o;
    }

private:
    std::mutex mutex_;
    std::deque<object> objects_;
};

constexpr std::size_t KiB = 1024, MiB = 1024 * KiB;
constexpr std::size_t plenty = 1500; // objects that a thread holds, about

// Many small sizes, some medium, few of whole pages, and one that is charged without a context.
struct size_choice {
    std::size_t request;
    std::int64_t usable;
};
std::vector<size_choice> measured_sizes() {
    std::vector<size_choice> sizes;
    for (std::size_t request : {1ul, 16ul, 24ul, 48ul, 100ul, 200ul, 333ul, 512ul, 1000ul, 2 * KiB, 4 * KiB, 5000ul,
                                16 * KiB, 40 * KiB, 64 * KiB, 100 * KiB, 300 * KiB, MiB + 1}) {
        void *p = allot_malloc(request);
        sizes.push_back({request, static_cast<std::int64_t>(allot_usable_size(p))});
        allot_free(p);
    }
    return sizes;
}

class stress {
public:
    explicit stress(const settings &s) : settings_(s), mailboxes_(s.threads), sizes_(measured_sizes()) { make_tree(); }

    // 0, or 1 after a line on stderr for each thing that is wrong.
    int run() {
        std::vector<std::thread> threads;
        for (unsigned i = 0; i < settings_.threads; ++i) threads.emplace_back([this, i] { seat(i); });
        for (std::thread &t : threads) t.join();
        for (mailbox &m : mailboxes_)
            while (std::optional<object> o = m.take()) free(*o);
        return judge();
    }

private:
    // Leaves below 16-leaf middles below 8-middle groups. A middle is allowed half of what its leaves are, a group half of
    // its middles: refusals come from every level. Every second group is crowded.
    void make_tree() {
        constexpr unsigned leaves_of_a_middle = 16, middles_of_a_group = 8;
        constexpr std::int64_t leaf_max = 4 * static_cast<std::int64_t>(MiB);
        level *group = nullptr, *middle = nullptr;
        for (unsigned i = 0; i < settings_.tenants; ++i) {
            if (i % (leaves_of_a_middle * middles_of_a_group) == 0) {
                auto kind = (i / (leaves_of_a_middle * middles_of_a_group)) % 2 == 0 ? group_kind::reserved
                                                                                     : group_kind::crowded;
                group = add(nullptr, "group", leaf_max * leaves_of_a_middle / 2 * middles_of_a_group / 2, kind);
            }
            if (i % leaves_of_a_middle == 0)
                middle = add(group, "middle", leaf_max * leaves_of_a_middle / 2, group->kind);
            leaves_.push_back(add(middle, "leaf", leaf_max, group->kind));
        }
    }

    level *add(level *parent, const char *what, std::int64_t max, group_kind kind) {
        levels_.push_back(std::make_unique<level>());
        level *l = levels_.back().get();
        // A crowded tree gets tight limits, so that refusals are frequent.
        if (kind == group_kind::crowded) max /= 16;
        l->parent = parent;
        l->kind = kind;
        l->max = max;
        l->tokens = max;
        std::string name = what + std::to_string(levels_.size());
        l->tenant = allot_tenant_create(parent == nullptr ? nullptr : parent->tenant, name.c_str());
        if (l->tenant == nullptr || allot_tenant_set(l->tenant, "memory.max", std::to_string(max).c_str()) != 0) {
            std::perror("exactness: a tenant cannot be made");
            std::exit(1);
        }
        return l;
    }

    // --- what a thread does -------------------------------------------------------------------------------------------

    // Threads end and are replaced until all operations are done.
    void seat(unsigned number) {
        std::uint64_t share = settings_.operations / settings_.threads;
        std::mt19937 random(settings_.seed * 7919 + number);
        while (share > 0) {
            std::uint64_t life = std::min<std::uint64_t>(share, 5000 + random() % 50000);
            unsigned seed = static_cast<unsigned>(random());
            std::thread([this, number, seed, life] { live(number, seed, life); }).join();
            found_.ended++;
            share -= life;
        }
    }

    void live(unsigned number, unsigned seed, std::uint64_t life) {
        std::mt19937 random(seed);
        std::vector<object> mine;
        level *now = nullptr;
        for (std::uint64_t i = 0; i < life; ++i) {
            // A few tenants at a time, as a server's thread has.
            if (i % 64 == 0) {
                now = leaves_[random() % leaves_.size()];
                allot_set_active(now->tenant);
            }
            unsigned what = random() % 10000;
            const unsigned growth = mine.size() < plenty ? 7000 : 3000; // up to a level, and around it from then on
            if (what < growth) {
                if (std::optional<object> o = allocate(*now, random)) mine.push_back(*o);
            } else if (what < 9980 && !mine.empty()) {
                std::swap(mine[random() % mine.size()], mine.back());
                object o = mine.back();
                mine.pop_back();
                if (what % 16 == 0)
                    mailboxes_[random() % mailboxes_.size()].put(o);
                else
                    free(o);
            } else if (what < 9990) {
                for (int n = 0; n < 32; ++n)
                    if (std::optional<object> o = mailboxes_[number].take()) {
                        free(*o);
                        found_.remote_frees++;
                    }
            } else if (what < 9995) {
                move_a_limit(*leaves_[random() % leaves_.size()], random);
            } else {
                live_and_die(*now, random);
            }
        }
        found_.operations += life;
        for (const object &o : mine) mailboxes_[random() % mailboxes_.size()].put(o);
    }

    bool take_tokens(level &l, std::int64_t bytes) {
        for (level *at = &l; at != nullptr; at = at->parent) {
            if (at->tokens.fetch_sub(bytes) >= bytes) continue;
            for (level *undo = &l;; undo = undo->parent) {
                undo->tokens += bytes;
                if (undo == at) return false;
            }
        }
        return true;
    }
    void give_tokens(level &l, std::int64_t bytes) {
        for (level *at = &l; at != nullptr; at = at->parent) at->tokens += bytes;
    }

    // For the active tenant, which is `l` or a child of it.
    std::optional<object> allocate(level &l, std::mt19937 &random) {
        unsigned pick = random() % 1000; // large ones seldom
        std::size_t last = pick < 900 ? 9 : pick < 996 ? 14 : sizes_.size();
        const size_choice &size = sizes_[random() % last];
        bool is_reserved = l.kind == group_kind::reserved;
        if (is_reserved && !take_tokens(l, size.usable)) return std::nullopt;
        void *p = allot_malloc(size.request);
        if (p == nullptr) {
            found_.refusals++;
            if (is_reserved) {
                if (found_.false_refusals++ == 0)
                    std::fprintf(stderr, "exactness: %zu bytes were refused though they fit\n", size.request);
                give_tokens(l, size.usable);
            }
            return std::nullopt;
        }
        std::memset(p, 0x5a, std::min<std::size_t>(size.request, 64));
        if (!is_reserved)
            for (level *at = &l; at != nullptr; at = at->parent)
                if ((at->live += size.usable) > at->max) found_.overshoots++;
        return object{p, &l, size.usable};
    }

    void free(const object &o) {
        bool is_reserved = o.owner->kind == group_kind::reserved;
        if (!is_reserved)
            for (level *at = o.owner; at != nullptr; at = at->parent) at->live -= o.bytes;
        allot_free(o.block);
        if (is_reserved) give_tokens(*o.owner, o.bytes); // only now: until then the bytes are charged
    }

    // Of a reserved leaf: what the limit loses was reserved before, so that nothing that is asked for meanwhile can miss it.
    void move_a_limit(level &l, std::mt19937 &random) {
        if (l.kind != group_kind::reserved) return;
        std::unique_lock guard(limits_, std::try_to_lock);
        if (!guard.owns_lock()) return;
        std::int64_t by = 4096 * (1 + static_cast<std::int64_t>(random() % 256));
        if (l.tokens.fetch_sub(by) < by) {
            l.tokens += by;
            return;
        }
        auto set = [&](std::int64_t max) {
            return allot_tenant_set(l.tenant, "memory.max", std::to_string(max).c_str());
        };
        if (set(l.max - by) != 0 || set(l.max) != 0) std::abort();
        l.tokens += by;
        found_.limit_changes++;
    }

    // A tenant that is destroyed while its objects live: they are its parent's then, and whoever frees them credits that.
    void live_and_die(level &l, std::mt19937 &random) {
        std::string name = "brief" + std::to_string(next_name_++);
        allot_tenant *child = allot_tenant_create(l.tenant, name.c_str());
        if (child == nullptr) std::abort();
        allot_tenant *before = allot_set_active(child);
        for (unsigned n = random() % 8; n > 0; --n)
            if (std::optional<object> o = allocate(l, random)) mailboxes_[random() % mailboxes_.size()].put(*o);
        if (allot_tenant_destroy(child) != 0) std::abort();
        if (allot_tenant_destroy(child) != -ESTALE) std::abort();
        allot_set_active(before);
        found_.destroyed++;
    }

    // --- at the end ---------------------------------------------------------------------------------------------------

    int judge() {
        int status = 0;
        auto wrong = [&](const std::string &what) {
            std::fprintf(stderr, "exactness: %s\n", what.c_str());
            status = 1;
        };
        allot_verify_report report;
        if (allot_verify(&report) != 0) wrong(std::string("the recount differs: ") + report.first);
        if (found_.false_refusals != 0) wrong(std::to_string(found_.false_refusals) + " false refusals");
        if (found_.overshoots != 0) wrong(std::to_string(found_.overshoots) + " overshoots");
        for (const auto &l : levels_) {
            if (std::uint64_t left = allot_tenant_current(l->tenant))
                wrong(std::to_string(left) + " bytes are left in a tenant");
            if (l->kind == group_kind::reserved && l->tokens != l->max) wrong("the test lost tokens");
        }
        if (std::uint64_t left = allot_tenant_current(nullptr)) wrong(std::to_string(left) + " bytes are left in all");
        // What nobody did was not tested. A short run need not come to each of the rare ones.
        if (found_.refusals == 0 || found_.remote_frees == 0 || found_.destroyed == 0 || found_.limit_changes == 0)
            wrong("the run was too short to mean anything");
        std::printf(
            "%llu operations, %llu refusals, %llu remote frees, %llu limit changes, %llu tenants destroyed with "
            "objects, %llu threads ended; %llu false refusals, %llu overshoots\n",
            number(found_.operations), number(found_.refusals), number(found_.remote_frees),
            number(found_.limit_changes), number(found_.destroyed), number(found_.ended), number(found_.false_refusals),
            number(found_.overshoots));
        return status;
    }
    static unsigned long long number(const std::atomic<std::uint64_t> &n) { return n; }

    settings settings_;
    std::vector<std::unique_ptr<level>> levels_;
    std::vector<level *> leaves_;
    std::vector<mailbox> mailboxes_;
    std::vector<size_choice> sizes_;
    std::mutex limits_;
    std::atomic<unsigned> next_name_{0};
    counts found_;
};

} // namespace

int main(int argc, char **argv) {
    settings s;
    for (int i = 1; i < argc; i += 2) {
        std::string name = argv[i];
        if (i + 1 == argc) {
            std::fprintf(stderr, "exactness: %s needs a number\n", argv[i]);
            return 2;
        }
        std::uint64_t value = number_of("exactness", argv[i + 1]);
        if (name == "--operations")
            s.operations = value;
        else if (name == "--threads")
            s.threads = static_cast<unsigned>(value);
        else if (name == "--tenants")
            s.tenants = static_cast<unsigned>(value);
        else if (name == "--seed")
            s.seed = static_cast<unsigned>(value);
        else {
            std::fprintf(stderr, "exactness: %s: expected --operations, --threads, --tenants or --seed\n", argv[i]);
            return 2;
        }
    }
    return stress(s).run();
}
