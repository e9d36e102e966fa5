// replay --variant NAME [--cpus N] [--nodes N] [--migrate MS] [--owners tenant|image] FILE... or --synthetic STREAM: feeds the
// allocations and frees of traces, or of a stream that is made up, to an engine, and says how many of the updates of statistics that they are reach
// lines which others read or write, and why. Claim: Linux's stocks keep more than four fifths of them to themselves (its own
// figures: 17 to 20 % get through), allot's contexts more than 99 in 100.
//
// Tasks of a trace run on the engine's CPUs (bench/update_stream.hpp); allot's contexts are those of threads. Blocks above 8 KiB
// are no slab's in Linux: its engine charges their pages, and no statistics of slabs. Everything is fed by one thread, in the
// order of the stream: the counts are the same in every run, and times are those of one CPU that owns every line.
//
// Linux's counts are those of memcg::tally. Of allot: each operation updates statistics, in the word that is charged; each slow path
// moves what has come together into the books, so it is `flushed`, and with it the charges that bypass contexts (blocks of a
// MiB and more). `shared` are read-modify-writes of counters: `usage`, one a level and walk, the root's included, and `peaks` that are raised.
#include "accounting/accounting.hpp"
#include "accounting/context_table.hpp"
#include "accounting/linux/engines.hpp"
#include "accounting/tenant.hpp"
#include "bench/experiment.hpp"
#include "bench/harness.hpp"
#include "bench/update_stream.hpp"

#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>

using namespace allot;
using namespace allot::bench;

namespace {

struct settings {
    std::string variant = "allot", synthetic = "none", owners = "tenant";
    std::uint64_t cpus = 8, nodes = 2, migrate = 0, levels = 3, updates = 100000, iterations = 1;
    double seconds = 0;
    bool json = false;
    std::vector<std::string> files;
};

constexpr std::uint64_t levels_max = 8;

// --- Linux ------------------------------------------------------------------------------------------------------------------

class linux_books {
public:
    linux_books(const memcg::variant_entry &variant, const update_stream &stream, std::uint64_t levels)
        : engine_(variant.make({.cpus = stream.nr_cpus, .nodes = stream.nr_nodes})) {
        memcg::group *parent = &engine_->root();
        for (std::uint64_t level = 1; level < levels; ++level) parent = &engine_->create(*parent);
        for (std::uint32_t i = 0; i < stream.nr_owners; ++i) groups_.push_back(&engine_->create(*parent));
        for (std::uint32_t i = 0; i < stream.nr_cpus; ++i) cpus_.push_back(&engine_->cpu_of(i));
    }

    void feed(const update &u) {
        memcg::cpu &cpu = *cpus_[u.cpu];
        memcg::group &group = *groups_[u.owner];
        const auto bytes = static_cast<std::int64_t>(u.bytes);
        if (bytes > memcg::any_engine::largest_slab_object) {
            const std::int64_t pages = memcg::any_engine::pages_of(bytes);
            if (u.kind == update_kind::free)
                engine_->uncharge_pages(cpu, group, pages);
            else if (!engine_->charge_pages(cpu, group, pages))
                fail("pages were refused without a limit");
            return;
        }
        const memcg::slab_kind kind =
            u.is_reclaimable ? memcg::slab_kind::reclaimable : memcg::slab_kind::unreclaimable;
        if (u.kind == update_kind::free)
            engine_->uncharge(cpu, *group.own, bytes, u.node, kind);
        else if (!engine_->charge(cpu, *group.own, bytes, u.node, kind))
            fail("an object was refused without a limit");
    }
    [[nodiscard]] counts counted() const { return counts_of(engine_->counts()); }
    // After the leftover: less than a page of each owner may wait for others.
    void verify_empty() {
        for (memcg::cpu *cpu : cpus_) engine_->take_off_line(*cpu);
        for (memcg::group *group : groups_)
            for (memcg::slab_kind kind : {memcg::slab_kind::reclaimable, memcg::slab_kind::unreclaimable})
                if (engine_->statistic(*group, kind) != 0) fail("statistics of what has been freed do not come to 0");
    }

private:
    std::unique_ptr<memcg::any_engine> engine_;
    std::vector<memcg::group *> groups_;
    std::vector<memcg::cpu *> cpus_;
};

// --- allot ------------------------------------------------------------------------------------------------------------------

class allot_books {
public:
    allot_books(const update_stream &stream, std::uint64_t levels) : levels_(levels), nr_owners_(stream.nr_owners) {
        if (!accounting_start()) fail("accounting could not start");
        std::string path;
        for (std::uint64_t level = 1; level < levels; ++level) path += "/level" + std::to_string(level);
        for (std::uint32_t i = 0; i < stream.nr_owners; ++i) {
            tenants_.push_back(tenant_create_path((path + "/owner" + std::to_string(i)).c_str()));
            if (tenants_.back() == nullptr) fail("no tenant could be created at " + path);
        }
        contexts_.resize(std::size_t{stream.nr_threads} * stream.nr_owners);
    }
    ~allot_books() {
        for (context *c : contexts_)
            if (c != nullptr) context_close(c);
        for (allot_tenant *t : tenants_) (void)tenant_destroy(t);
    }
    allot_books(const allot_books &) = delete;
    allot_books &operator=(const allot_books &) = delete;

    void feed(const update &u) {
        ++operations_;
        context &c = context_of(u.thread, u.owner);
        if (u.bytes >= direct_charge_bytes) return feed_directly(c, u);
        const net_word d = net_of(charged_bytes(u.bytes), 1);
        if (u.kind == update_kind::free) {
            if (!context_uncharge(c, d)) [[unlikely]]
                slowly(c, u.owner, [&] { context_uncharge_slow(&c); });
        } else if (!context_charge(c, d)) [[unlikely]] {
            slowly(c, u.owner, [&] { must(context_charge_slow(&c, d)); });
        }
    }
    [[nodiscard]] counts counted() const {
        return {{"usage", walks_ * (levels_ + 1)},
                {"peaks", peaks_},
                {"walks", walks_},
                {"slow_paths", slow_paths_},
                {"statistics", operations_},
                {"flushed", slow_paths_},
                {"shared", walks_ * (levels_ + 1) + peaks_}};
    }
    void verify_empty() {
        for (context *&c : contexts_)
            if (c != nullptr) context_close(std::exchange(c, nullptr));
        for (allot_tenant *t : tenants_)
            if (usage(tenant_from(t)->counter) != 0) fail("a tenant is charged for what has been freed");
    }

private:
    // Slabs serve, and contexts are charged, in steps of 16 bytes; a made-up stream has the kernel's sizes.
    static std::int64_t charged_bytes(std::uint64_t bytes) {
        return (static_cast<std::int64_t>(bytes) + size_grain - 1) / size_grain * size_grain;
    }
    static void must(bool is_charged) {
        if (!is_charged) fail("allot refused bytes without a limit");
    }
    context &context_of(std::uint32_t thread, std::uint32_t owner) {
        context *&c = contexts_[std::size_t{thread} * nr_owners_ + owner];
        if (c == nullptr) c = context_open(obj_cgroup_of(tenants_[owner]));
        if (c == nullptr) fail("no context could be opened");
        return *c;
    }
    void feed_directly(context &c, const update &u) {
        slowly(c, u.owner, [&] {
            if (u.kind == update_kind::free)
                context_uncharge_bytes(&c, u.bytes);
            else
                must(context_charge_bytes(&c, u.bytes));
        });
    }
    // Does it, and counts what it did to the tree: there is one thread, so counters tell.
    template<typename Do>
    void slowly(context &, std::uint32_t owner, Do it) {
        tenant *const leaf = tenant_from(tenants_[owner]);
        std::uint64_t peaks[levels_max + 1];
        std::size_t level = 0;
        for (tenant *t = leaf; t != nullptr; t = parent_of(*t)) peaks[level++] = t->counter.peak.load();
        const std::uint64_t before = usage(leaf->counter);
        it();
        ++slow_paths_;
        walks_ += usage(leaf->counter) != before;
        level = 0;
        for (tenant *t = leaf; t != nullptr; t = parent_of(*t)) peaks_ += t->counter.peak.load() != peaks[level++];
    }

    const std::uint64_t levels_;
    const std::uint32_t nr_owners_;
    std::vector<allot_tenant *> tenants_;
    std::vector<context *> contexts_; // by thread and owner; opened when needed
    std::uint64_t operations_ = 0, slow_paths_ = 0, walks_ = 0, peaks_ = 0;
};

// What the stream costs by itself.
class no_books {
public:
    void feed(const update &u) { sum_ += u.bytes; }
    [[nodiscard]] counts counted() const { return {{"shared", 0}}; }
    void verify_empty() const { asm volatile("" : : "r"(sum_)); }

private:
    std::uint64_t sum_ = 0;
};

// --- one run ----------------------------------------------------------------------------------------------------------------

// Rounds, each with new books, until there were enough or time is over.
template<typename MakeBooks>
outcome feed_rounds(const settings &s, const update_stream &stream, MakeBooks make) {
    outcome all;
    for (std::uint64_t round = 0; s.seconds > 0 ? all.seconds < s.seconds : round < s.iterations; ++round) {
        auto books = make();
        outcome one;
        const stopwatch watch;
        for (const update &u : stream.updates) books->feed(u);
        watch.read(one);
        all.seconds += one.seconds;
        all.cpu_seconds += one.cpu_seconds;
        all.operations += stream.updates.size();
        const counts counted = books->counted();
        if (all.counted.empty())
            all.counted = counted;
        else
            for (std::size_t i = 0; i < counted.size(); ++i) all.counted[i].second += counted[i].second;
        for (const update &u : stream.leftover) books->feed(u);
        books->verify_empty();
    }
    return all;
}

outcome feed_to_variant(const settings &s, const update_stream &stream) {
    if (s.variant == "null") return feed_rounds(s, stream, [] { return std::make_unique<no_books>(); });
    if (s.variant == "allot")
        return feed_rounds(s, stream, [&] { return std::make_unique<allot_books>(stream, s.levels); });
    if (const memcg::variant_entry *variant = memcg::engine_named(s.variant))
        return feed_rounds(s, stream, [&] { return std::make_unique<linux_books>(*variant, stream, s.levels); });
    std::string names = "null, allot";
    for (const memcg::variant_entry &entry : memcg::all_engines()) names += std::string(", ") + entry.name;
    fail("--variant " + s.variant + ": expected one of " + names);
}

void print_for_people(const settings &s, const update_stream &stream, const outcome &r) {
    const auto count = [&](const char *name) { return static_cast<double>(count_named(r.counted, name)); };
    const double operations = static_cast<double>(r.operations), updates = count("statistics");
    const auto percent = [&](const char *name) { return updates == 0 ? 0 : 100 * count(name) / updates; };
    std::printf("%s\n", stream.mix.c_str());
    std::printf("%s: %.0f operations, %.1f ns each, %.4f shared read-modify-writes each\n", s.variant.c_str(),
                operations, 1e9 * r.seconds / operations, count("shared") / operations);
    if (s.variant == "allot")
        std::printf("%.0f updates of statistics, %.3f %% flushed by slow paths\n", updates, percent("flushed"));
    if (s.variant == "allot" || s.variant == "null") return;
    const char *const reasons[] = {"size", "node", "owner", "drain"};
    double all = percent("flushed_directly");
    for (const char *reason : reasons) all += percent((std::string("flushed_by_") + reason).c_str());
    std::printf("%.0f updates of statistics, %.2f %% flushed:", updates, all);
    for (const char *reason : reasons)
        std::printf(" by %s %.2f,", reason, percent((std::string("flushed_by_") + reason).c_str()));
    std::printf(" directly %.2f\n", percent("flushed_directly"));
}

// Files are what is no option and no option's value.
std::vector<char *> take_files(int argc, char **argv, std::vector<std::string> &files) {
    std::vector<char *> rest{argv[0]};
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (!word.starts_with("--")) {
            files.push_back(word);
            continue;
        }
        rest.push_back(argv[i]);
        if (word != "--json" && i + 1 < argc) rest.push_back(argv[++i]);
    }
    return rest;
}

} // namespace

int main(int argc, char **argv) {
    settings s;
    options o;
    o.word("--variant", s.variant);
    o.word("--synthetic", s.synthetic);
    o.word("--owners", s.owners, {"tenant", "image"});
    o.number("--cpus", s.cpus);
    o.number("--nodes", s.nodes);
    o.number("--migrate", s.migrate, 0);
    o.number("--levels", s.levels);
    o.number("--updates", s.updates);
    o.number("--iterations", s.iterations);
    o.real("--seconds", s.seconds, 0, 3600);
    o.flag("--json", s.json);
    std::vector<char *> rest = take_files(argc, argv, s.files);
    o.parse(static_cast<int>(rest.size()), rest.data());
    if ((s.synthetic == "none") == s.files.empty())
        fail(std::string("expected files of traces, or --synthetic ") + made_up_streams);
    if (s.levels > levels_max || s.cpus > 4096 || s.nodes > 255)
        fail("expected at most 8 levels, 4096 CPUs and 255 nodes");
    try {
        const update_stream stream =
            s.files.empty() ? made_up_stream(s.synthetic, s.updates)
                            : stream_of_traces(s.files, {s.cpus, s.nodes, s.migrate},
                                               s.owners == "image" ? owner_rule::image : owner_rule::tenant);
        if (stream.updates.empty()) fail("there is no allocation in it");
        const outcome r = feed_to_variant(s, stream);
        if (s.json)
            std::printf("%s\n", json_of("replay", o, r).c_str());
        else
            print_for_people(s, stream, r);
    } catch (const std::exception &problem) {
        fail(problem.what());
    }
    return 0;
}
