#include "bench/update_stream.hpp"

#include "bench/harness.hpp"
#include "tools/trace_reader.hpp"

#include <charconv>
#include <unordered_map>
#include <utility>

namespace allot::bench {
namespace {

// As `alloc` says, by that thread on that CPU.
update free_of(update alloc, std::uint32_t thread, std::uint32_t cpu) {
    alloc.kind = update_kind::free;
    alloc.thread = thread;
    alloc.cpu = cpu;
    return alloc;
}

// --- traces -----------------------------------------------------------------------------------------------------------------

class traces_to_stream {
public:
    traces_to_stream(const std::vector<std::string> &files, const task_placement &placement, owner_rule rule)
        : reader_(files), placement_(placement), rule_(rule) {}

    update_stream read() {
        for (trace_event e; reader_.next(e);) take(e);
        for (const auto &[key, alloc] : live_) stream_.leftover.push_back(free_of(alloc, alloc.thread, alloc.cpu));
        const std::size_t images = reader_.images().size(), threads = reader_.threads().size();
        stream_.nr_threads = static_cast<std::uint32_t>(threads);
        stream_.nr_owners = static_cast<std::uint32_t>(rule_ == owner_rule::image ? images : reader_.tenants().size());
        stream_.nr_cpus = static_cast<std::uint32_t>(placement_.cpus);
        stream_.nr_nodes = static_cast<std::uint32_t>(placement_.nodes);
        stream_.mix = std::to_string(images) + " program images, " + std::to_string(threads) + " threads";
        return std::move(stream_);
    }

private:
    void take(const trace_event &e) {
        if (begin_ == 0) begin_ = e.time;
        if (!e.is_known) return;
        switch (e.kind) {
        case trace_event_kind::alloc: return alloc(e);
        case trace_event_kind::free: return free(e);
        case trace_event_kind::resize:
            if (e.usable == e.usable_before) return; // nothing changes in what is charged
            [[fallthrough]];
        case trace_event_kind::transfer: free(e); return alloc(e);
        case trace_event_kind::refused: return;
        case trace_event_kind::image_ends: return; // what lives stays: the trace has no frees of it
        }
    }
    std::uint32_t cpu_of(const trace_event &e) const {
        const std::uint64_t slice_ns = placement_.migrate_ms * 1000000;
        const std::uint64_t moves = slice_ns == 0 ? 0 : (e.time - begin_) / slice_ns;
        return static_cast<std::uint32_t>((e.thread + moves) % placement_.cpus);
    }
    static std::uint64_t key_of(const trace_event &e) { return std::uint64_t{e.image} << 48 ^ e.address; }

    void alloc(const trace_event &e) {
        const std::uint32_t cpu = cpu_of(e), owner = rule_ == owner_rule::image ? e.image : e.tenant;
        const auto node = static_cast<std::uint8_t>(cpu % placement_.nodes);
        const update u{e.usable, e.thread, cpu, owner, update_kind::alloc, node, false};
        live_.insert_or_assign(key_of(e), u);
        stream_.updates.push_back(u);
    }
    void free(const trace_event &e) {
        const auto alloc = live_.find(key_of(e));
        stream_.updates.push_back(free_of(alloc->second, e.thread, cpu_of(e)));
        live_.erase(alloc);
    }

    trace_reader reader_;
    const task_placement placement_;
    const owner_rule rule_;
    update_stream stream_;
    std::uint64_t begin_ = 0;
    std::unordered_map<std::uint64_t, update> live_;
};

// --- made up ----------------------------------------------------------------------------------------------------------------

constexpr std::uint64_t owner_bytes = 8; // what an object costs beyond its size

// One kind of object of the stream `seed`.
enum class life : std::uint8_t {
    kept,    // a cache grows
    soon,    // freed after a few others
    process, // until the process ends that it is part of
};
struct object_kind {
    const char *name;
    std::uint32_t bytes;
    bool is_reclaimable;
    life lives;
    double weight; // of a hundred allocations
};
// Sizes are those of a 64-bit kernel of 5.14; the weights are an assumption: programs are started, open files that nobody has
// looked at before, and end.
constexpr object_kind kernel_objects[] = {
    {"dentry", 192, true, life::kept, 20},        {"inode", 1096, true, life::kept, 15},
    {"xarray node", 576, true, life::kept, 14},   {"file", 256, false, life::soon, 12},
    {"small buffer", 32, false, life::soon, 5},   {"pipe buffer", 1024, false, life::soon, 3},
    {"credentials", 192, false, life::soon, 4},   {"mapping", 200, false, life::process, 10},
    {"chain", 64, false, life::process, 9},       {"anonymous mappings", 88, false, life::process, 5},
    {"signals", 1088, false, life::process, 2.6}, {"task", 7936, false, life::process, 0.4},
};
constexpr std::size_t process_objects = 600; // then it ends, the last first
constexpr std::size_t soon_objects = 3;      // live at the same time
constexpr std::uint32_t remote_of_1000 = 55; // objects that lie on the other node
constexpr std::uint32_t switch_of_1000 = 8;  // allocations before which another process, of the other cgroup, goes on

class seed_stream {
public:
    update_stream make(std::uint64_t updates) {
        stream_.nr_nodes = stream_.nr_owners = 2;
        while (stream_.updates.size() < updates) step();
        for (const update &u : kept_) stream_.leftover.push_back(free_of(u, 0, 0));
        for (const process &p : processes_) {
            for (const update &u : p.soon) stream_.leftover.push_back(free_of(u, 0, 0));
            for (const update &u : p.own) stream_.leftover.push_back(free_of(u, 0, 0));
        }
        stream_.mix = describe();
        return std::move(stream_);
    }

private:
    struct process {
        std::vector<update> soon, own;
    };

    void step() {
        if (random_.below(1000) < switch_of_1000) running_ = 1 - running_;
        process &p = processes_[running_];
        const object_kind &kind = choose();
        const bool is_remote = random_.below(1000) < remote_of_1000;
        const update u{kind.bytes,         0, 0, running_, update_kind::alloc, static_cast<std::uint8_t>(is_remote),
                       kind.is_reclaimable};
        stream_.updates.push_back(u);
        (kind.lives == life::kept ? kept_ : kind.lives == life::soon ? p.soon : p.own).push_back(u);
        if (p.soon.size() > soon_objects) {
            std::swap(p.soon[random_.below(static_cast<std::uint32_t>(p.soon.size()))], p.soon.back());
            free_last(p.soon);
        }
        if (p.own.size() > process_objects)
            while (!p.own.empty()) free_last(p.own);
    }
    void free_last(std::vector<update> &from) {
        stream_.updates.push_back(free_of(from.back(), 0, 0));
        from.pop_back();
    }
    const object_kind &choose() {
        double all = 0;
        for (const object_kind &k : kernel_objects) all += k.weight;
        double at = all * random_.below(1u << 20) / (1u << 20);
        for (const object_kind &k : kernel_objects)
            if ((at -= k.weight) < 0) return k;
        return kernel_objects[0];
    }
    static std::string describe() {
        std::string text = "one CPU; of 100 allocations";
        for (const object_kind &k : kernel_objects) {
            char part[96];
            const char *const lives[] = {"kept", "soon freed", "of a process"};
            std::snprintf(part, sizeof part, "%s %g %s of %u bytes (%s%s)", &k == kernel_objects ? "" : ",", k.weight,
                          k.name, k.bytes, k.is_reclaimable ? "reclaimable, " : "",
                          lives[static_cast<std::size_t>(k.lives)]);
            text += part;
        }
        char part[160];
        std::snprintf(part, sizeof part,
                      "; a process ends at %zu objects; %g %% lie on the other node; the other of two cgroups goes on "
                      "after %u on average",
                      process_objects, remote_of_1000 / 10.0, 1000 / switch_of_1000);
        return text + part;
    }

    random_sequence random_{1};
    update_stream stream_;
    std::vector<update> kept_;
    process processes_[2];
    std::uint32_t running_ = 0;
};

update_stream equal_stream(std::uint64_t cost, bool is_freed_at_once, std::uint64_t updates) {
    update_stream s;
    const update alloc{cost - owner_bytes, 0, 0, 0, update_kind::alloc, 0, false};
    for (std::uint64_t i = 0; i < updates; ++i)
        s.updates.push_back(is_freed_at_once && i % 2 == 1 ? free_of(alloc, 0, 0) : alloc);
    const std::uint64_t left = is_freed_at_once ? updates % 2 : updates;
    s.leftover.assign(left, free_of(alloc, 0, 0));
    s.mix = "one CPU; objects that cost " + std::to_string(cost) + " bytes" +
            (is_freed_at_once ? ", freed at once" : ", none is freed");
    return s;
}

} // namespace

update_stream stream_of_traces(const std::vector<std::string> &files, const task_placement &placement,
                               owner_rule rule) {
    return traces_to_stream(files, placement, rule).read();
}

update_stream made_up_stream(const std::string &name, std::uint64_t updates) {
    if (name == "seed") return seed_stream().make(updates);
    for (const bool is_pair : {false, true}) {
        const std::string prefix = is_pair ? "pair-" : "alloc-";
        if (!name.starts_with(prefix)) continue;
        std::uint64_t cost = 0;
        const char *end = name.data() + name.size();
        const auto [at, error] = std::from_chars(name.data() + prefix.size(), end, cost);
        if (error == std::errc() && at == end && cost > owner_bytes && cost <= 8192 + owner_bytes)
            return equal_stream(cost, is_pair, updates);
    }
    fail("--synthetic " + name + ": expected " + made_up_streams);
}

} // namespace allot::bench
