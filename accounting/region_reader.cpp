#include "accounting/region_reader.hpp"

#include "accounting/base/os.hpp"
#include "accounting/context_table.hpp"
#include "accounting/obj_cgroup.hpp"
#include "accounting/tenant_extra.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstring>

namespace allot {

namespace {

template<class T>
const T *record_in(std::uintptr_t at, std::uint32_t count, std::uint32_t index) {
    return index == 0 || index >= count ? nullptr : reinterpret_cast<const T *>(at) + index;
}

std::int64_t relaxed(const std::atomic<std::int64_t> &a) { return a.load(std::memory_order_relaxed); }
std::uint64_t relaxed(const std::atomic<std::uint64_t> &a) { return a.load(std::memory_order_relaxed); }
std::uint32_t relaxed(const std::atomic<std::uint32_t> &a) { return a.load(std::memory_order_relaxed); }

// What came from a file is no terminated text yet.
template<std::size_t N>
void copy_text(char (&out)[N], const char (&in)[N]) {
    std::memcpy(out, in, N);
    out[N - 1] = '\0';
}

// A file of gigabytes is sparse; one that claims to be larger than a window is not ours.
bool is_plausible(const region_header &h) {
    return h.window_shift <= window_shift_max && h.header_bytes >= sizeof(region_header);
}

constexpr std::uint32_t least_record_bytes[nr_tables] = {sizeof(process), sizeof(tenant), sizeof(obj_cgroup),
                                                         sizeof(context_record), sizeof(tenant_extra)};

} // namespace

region_reader::~region_reader() { forget(); }

void region_reader::forget() {
    for (copy *c : {&tenants_, &obj_cgroups_, &contexts_, &extras_, &sums_}) {
        if (c->at != 0) os_unmap(c->at, c->bytes);
        *c = {};
    }
    process_ = {};
    major_ = minor_ = default_tenant_ = 0;
    anomalies_ = 0;
}

region_error region_reader::open(const char *path) {
    forget();
    int fd = os_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return region_error::not_there;
    region_error error = read(fd);
    os_close(fd);
    if (error != region_error::none) { // keep the version, which a message names
        std::uint32_t major = major_, minor = minor_;
        forget();
        major_ = major;
        minor_ = minor;
    }
    return error;
}

region_error region_reader::read(int fd) {
    std::uintptr_t at = os_map(sizeof(region_header));
    if (at == 0) return region_error::no_memory;
    auto &header = *reinterpret_cast<region_header *>(at);
    region_error error = region_error::none;
    if (os_read_at(fd, &header, sizeof header, 0) != static_cast<long>(sizeof header) ||
        std::memcmp(header.magic, region_magic, sizeof region_magic) != 0) {
        error = region_error::not_a_region;
    } else if (header.endianness != region_endianness) {
        error = region_error::other_layout;
    } else {
        major_ = header.major;
        minor_ = header.minor;
        if (header.major != region_major)
            error = region_error::other_version;
        else if (!is_plausible(header))
            error = region_error::other_layout;
        else if (header.ready.load(std::memory_order_relaxed) != 1)
            error = region_error::not_a_region;
        else if (!read_table(fd, header, table::tenants, tenants_) ||
                 !read_table(fd, header, table::obj_cgroups, obj_cgroups_) ||
                 !read_table(fd, header, table::contexts, contexts_) ||
                 !read_table(fd, header, table::tenant_extras, extras_))
            error = region_error::other_layout;
    }
    if (error == region_error::none) {
        read_process(fd, header);
        default_tenant_ = relaxed(header.default_tenant);
        anomalies_ = relaxed(header.anomalies);
        sums_.bytes = std::size_t{tenants_.count} * sizeof(sums);
        sums_.at = os_map(sums_.bytes);
        if (sums_.at == 0)
            error = region_error::no_memory;
        else
            add_up();
    }
    os_unmap(at, sizeof(region_header));
    return error;
}

// The records of a table up to its count, as far as the file goes; places are where this version puts them.
bool region_reader::read_table(int fd, const region_header &header, table in, copy &out) {
    const table_header &of = header.tables[static_cast<std::uint32_t>(in)];
    std::uint32_t record_bytes = least_record_bytes[static_cast<std::uint32_t>(in)];
    std::uint64_t start = table_start(in, header.window_shift), end = table_end(in, header.window_shift);
    if (of.offset != start || of.record_bytes != record_bytes) return false;
    std::uint64_t count = of.count.load(std::memory_order_relaxed);
    if (count == 0 || count > (end - start) / record_bytes) return false;
    out.bytes = count * record_bytes;
    out.at = os_map(out.bytes);
    if (out.at == 0) return false;
    std::size_t have = 0;
    while (have < out.bytes) {
        long got = os_read_at(fd, reinterpret_cast<void *>(out.at + have), out.bytes - have, start + have);
        if (got <= 0) break;
        have += static_cast<std::size_t>(got);
    }
    out.count = static_cast<std::uint32_t>(have / record_bytes);
    return out.count > 1 || in == table::contexts || in == table::tenant_extras;
}

void region_reader::read_process(int fd, const region_header &header) {
    struct process p;
    std::uint64_t offset =
        table_start(table::processes, header.window_shift) + std::uint64_t{header.process} * sizeof p;
    process_.end = process_end::unknown;
    if (header.process == 0 || offset >= table_end(table::processes, header.window_shift) ||
        os_read_at(fd, &p, sizeof p, offset) != static_cast<long>(sizeof p))
        return;
    process_.pid = p.pid;
    process_.parent = p.parent;
    process_.start_time = p.start_time;
    copy_text(process_.name, p.name);
    copy_text(process_.executable, p.executable);
    process_.uncounted = p.uncounted.load(std::memory_order_relaxed);
    process_.uncounted_peak = p.uncounted_peak.load(std::memory_order_relaxed);
    bool same_namespace = header.pid_namespace == 0 || header.pid_namespace == pid_namespace();
    if (p.state.load(std::memory_order_relaxed) == process_state::exited)
        process_.end = process_end::exited;
    else if (same_namespace)
        process_.end =
            process_is_alive(p.pid, {p.start_time, p.start_of_stack}) ? process_end::running : process_end::died;
}

const tenant *region_reader::living(std::uint32_t index) const {
    const tenant *t = record_in<tenant>(tenants_.at, tenants_.count, index);
    return t != nullptr && t->state.load(std::memory_order_relaxed) == tenant_state::living ? t : nullptr;
}

namespace {

// Unsigned, since what a file holds may add up to anything.
std::int64_t sum(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t as_signed(std::uint64_t value) { return static_cast<std::int64_t>(value); }

} // namespace

void region_reader::add_to_ancestors(std::uint32_t index, const sums &part) {
    // Not further than a tree can be deep: the file may hold a circle.
    for (std::uint32_t depth = 0; depth <= tenant_depth_max; ++depth) {
        const tenant *t = living(index);
        if (t == nullptr) return;
        sums &s = reinterpret_cast<sums *>(sums_.at)[index];
        for (std::uint32_t stat = 0; stat < allot_nr_stats; ++stat)
            s.value[stat] = sum(s.value[stat], part.value[stat]);
        index = t->counter.parent;
    }
}

void region_reader::add_up() {
    for (std::uint32_t index = 1; index < tenants_.count; ++index) {
        const tenant *t = living(index);
        if (t == nullptr) continue;
        sums own{};
        if (index == root_index) own.value[allot_stat_anomalies] = as_signed(anomalies_);
        own.value[allot_stat_slab] = relaxed(t->settled_bytes);
        own.value[allot_stat_objects] = relaxed(t->settled_objects);
        own.value[allot_stat_large] = relaxed(t->large);
        own.value[allot_stat_external] = relaxed(t->external);
        own.value[allot_stat_forced] = as_signed(relaxed(t->forced));
        own.value[allot_stat_headroom] = as_signed(relaxed(t->headroom_charges));
        if (const auto *extra = record_in<tenant_extra>(extras_.at, extras_.count, relaxed(t->extra))) {
            own.value[allot_stat_injected] = as_signed(relaxed(extra->failures.injected));
            own.value[allot_stat_reclaimed] = as_signed(relaxed(extra->reclaimed));
            own.value[allot_stat_throttled] = relaxed(extra->nr_delayed);
            own.value[allot_stat_throttled_usec] = as_signed(relaxed(extra->delayed_us));
        }
        add_to_ancestors(index, own);
    }
    for (std::uint32_t index = 1; index < contexts_.count; ++index) {
        const auto *c = record_in<context_record>(contexts_.at, contexts_.count, index);
        if ((c->hot.flags & context_in_use) == 0) continue;
        const auto *o = record_in<obj_cgroup>(obj_cgroups_.at, obj_cgroups_.count, c->hot.obj_cgroup);
        if (o == nullptr) continue;
        net_word net = relaxed(c->hot.net);
        std::int64_t unused = sum(sum(relaxed(c->hot.stock), relaxed(c->cold.late)), -net_bytes(net));
        sums own{};
        own.value[allot_stat_slab] = sum(relaxed(c->cold.settled_bytes), net_bytes(net));
        own.value[allot_stat_objects] = sum(relaxed(c->cold.settled_objects), net_objects(net));
        own.value[allot_stat_stock] = unused > 0 ? unused : 0;
        add_to_ancestors(o->tenant.load(std::memory_order_relaxed), own);
    }
}

bool region_reader::tenant_at(std::uint32_t index, tenant_view &out) const {
    const tenant *t = living(index);
    if (t == nullptr) return false;
    out = {};
    out.index = index;
    out.parent = t->counter.parent;
    // Its own chain says how deep it is, and that it hangs on the root.
    std::uint32_t at = index;
    while (at != root_index && out.depth <= tenant_depth_max) {
        const tenant *link = living(at);
        if (link == nullptr) return false;
        at = link->counter.parent;
        ++out.depth;
    }
    if (at != root_index) return false;
    copy_text(out.name, t->name);
    const sums &s = reinterpret_cast<const sums *>(sums_.at)[index];
    auto positive = [](std::int64_t value) { return value > 0 ? value : 0; };
    out.usage = usage(t->counter);
    auto unused = static_cast<std::uint64_t>(positive(s.value[allot_stat_stock]));
    out.current = out.usage > unused ? out.usage - unused : 0;
    out.peak = relaxed(t->counter.peak);
    out.min = relaxed(t->counter.min);
    out.low = relaxed(t->counter.low);
    out.high = relaxed(t->counter.high);
    out.max = relaxed(t->counter.max);
    auto policy = static_cast<std::uint32_t>(t->on_refusal.load(std::memory_order_relaxed));
    out.policy = policy <= static_cast<std::uint32_t>(refusal_policy::abort)
                     ? refusal_policy{static_cast<std::uint8_t>(policy)}
                     : refusal_policy::inherit;
    for (std::uint32_t e = 0; e < allot_nr_events; ++e) {
        out.events[e] = relaxed(t->events[e]);
        out.events_local[e] = relaxed(t->events_local[e]);
    }
    for (std::uint32_t stat = 0; stat < allot_nr_stats; ++stat) out.stats[stat] = positive(s.value[stat]);
    return true;
}

std::size_t region_reader::path_of(std::uint32_t index, char *buffer, std::size_t size) const {
    const tenant *chain[tenant_depth_max + 1];
    std::uint32_t depth = 0;
    while (index != root_index && depth <= tenant_depth_max) {
        const tenant *t = living(index);
        if (t == nullptr) break;
        chain[depth++] = t;
        index = t->counter.parent;
    }
    return write_names(chain, depth, buffer, size);
}

const char *region_error_text(region_error error) {
    switch (error) {
    case region_error::none: return "it can be read";
    case region_error::not_there: return "it cannot be opened";
    case region_error::not_a_region: return "it is no region, or one that was never finished";
    case region_error::other_version: return "another major version of allot made it";
    case region_error::other_layout: return "it is laid out in a way that this build does not know";
    case region_error::no_memory: return "there is no memory for a copy of it";
    }
    return "";
}

} // namespace allot
