#include "accounting/tenant_files.hpp"

#include "accounting/accounting.hpp"
#include "accounting/base/os.hpp"
#include "accounting/base/report.hpp"
#include "accounting/context_table.hpp"
#include "accounting/drain.hpp"
#include "accounting/obj_cgroup.hpp"
#include "accounting/sizes.hpp"
#include "accounting/statistics.hpp"
#include "accounting/tables.hpp"
#include "accounting/tenant.hpp"

#include <cerrno>
#include <cstring>

namespace allot {

namespace {

// --- readers: registry lock held --------------------------------------------------------------------------------------

void put_size(line_writer &out, std::uint64_t bytes) {
    if (bytes >= unlimited)
        out.text("max\n");
    else
        out.number(bytes).text("\n");
}

void get_current(const tenant &t, line_writer &out) { out.number(current_exact(t)).text("\n"); }
void get_peak(const tenant &t, line_writer &out) {
    out.number(t.counter.peak.load(std::memory_order_relaxed)).text("\n");
}
template<std::atomic<std::uint64_t> page_counter::*Limit>
void get_limit(const tenant &t, line_writer &out) {
    put_size(out, (t.counter.*Limit).load(std::memory_order_relaxed));
}

void put_events(const std::atomic<std::uint64_t> (&events)[events_capacity], line_writer &out) {
    for (std::uint32_t e = 0; e < allot_nr_events; ++e)
        out.text(event_table[e].name).text(" ").number(events[e].load(std::memory_order_relaxed)).text("\n");
}
void get_events(const tenant &t, line_writer &out) { put_events(t.events, out); }
void get_events_local(const tenant &t, line_writer &out) { put_events(t.events_local, out); }

void get_stat(const tenant &t, line_writer &out) {
    statistics all = statistics_of_subtree(t);
    for (std::uint32_t s = 0; s < allot_nr_stats; ++s)
        out.text(stat_table[s].name).text(" ").signed_number(all.value[s]).text("\n");
}

constexpr const char *policy_words[] = {"inherit", "fail", "kill", "abort"};

void get_policy(const tenant &t, line_writer &out) {
    out.text(policy_words[static_cast<std::uint32_t>(t.on_refusal.load(std::memory_order_relaxed))]).text("\n");
}

// A destroyed tenant whose handle is still named by objects counts as dying, as in the kernel.
void get_cgroup_stat(const tenant &t, line_writer &out) {
    std::uint64_t descendants = 0, handles = 0;
    for (const tenant *at = &t; at != nullptr; at = next_in_subtree(*at, t)) {
        ++descendants;
        for (obj_cgroup *o = record_of<obj_cgroup>(at->first_handle); o != nullptr; o = record_of<obj_cgroup>(o->next))
            ++handles;
    }
    out.text("nr_descendants ").number(descendants - 1).text("\n");
    out.text("nr_dying_descendants ").number(handles - descendants).text("\n");
}

// --- writers: drain lock and registry lock held -----------------------------------------------------------------------

// Percentages are of the parent's max, or of RAM where there is none.
bool parse_size(const tenant &t, const char *value, std::uint64_t &bytes) {
    std::uint64_t base = unlimited;
    if (tenant *parent = parent_of(t)) base = parent->counter.max.load(std::memory_order_relaxed);
    size_result result = size_parse(value, base >= unlimited ? os_ram_bytes() : base);
    bytes = result.bytes;
    return result.error == size_error::none;
}

int set_max(tenant &t, const char *value) {
    std::uint64_t max;
    if (!parse_size(t, value, max)) return -EINVAL;
    std::uint64_t before = t.counter.max.exchange(max, std::memory_order_relaxed);
    // A charge ahead that read the old limit may still be on its way: it is made under a context's lock, which the drain
    // waits for, and what it charged ahead is taken.
    if (max < before) drain_subtree_of(t);
    return 0;
}

int set_high(tenant &t, const char *value) {
    std::uint64_t high;
    if (!parse_size(t, value, high)) return -EINVAL;
    t.counter.high.store(high, std::memory_order_relaxed);
    return 0;
}

template<std::atomic<std::uint64_t> page_counter::*Protection>
int set_protection(tenant &t, const char *value) {
    std::uint64_t bytes;
    if (!parse_size(t, value, bytes)) return -EINVAL;
    (t.counter.*Protection).store(bytes, std::memory_order_seq_cst); // seq_cst: see page_counter_propagate
    tenant *parent = parent_of(t);
    page_counter_propagate(t.counter, parent == nullptr ? nullptr : &parent->counter);
    return 0;
}

// Whatever is written: the highest usage from now on.
int reset_peak(tenant &t, const char *) {
    t.counter.peak.store(usage(t.counter), std::memory_order_relaxed);
    return 0;
}

int set_policy(tenant &t, const char *value) {
    for (std::uint32_t p = 0; p < sizeof policy_words / sizeof *policy_words; ++p) {
        std::size_t length = std::strlen(policy_words[p]);
        bool same = std::strncmp(value, policy_words[p], length) == 0;
        if (same && (value[length] == '\0' || std::strcmp(value + length, "\n") == 0)) {
            t.on_refusal.store(refusal_policy{static_cast<std::uint8_t>(p)}, std::memory_order_relaxed);
            return 0;
        }
    }
    return -EINVAL;
}

// --- the table --------------------------------------------------------------------------------------------------------

struct tenant_file {
    const char *name;
    void (*get)(const tenant &, line_writer &);
    int (*set)(tenant &, const char *value); // nullptr: only to be read
};

constexpr tenant_file files[] = {
    {"memory.current", get_current, nullptr},
    {"memory.peak", get_peak, reset_peak},
    {"memory.min", get_limit<&page_counter::min>, set_protection<&page_counter::min>},
    {"memory.low", get_limit<&page_counter::low>, set_protection<&page_counter::low>},
    {"memory.high", get_limit<&page_counter::high>, set_high},
    {"memory.max", get_limit<&page_counter::max>, set_max},
    {"memory.events", get_events, nullptr},
    {"memory.events.local", get_events_local, nullptr},
    {"memory.stat", get_stat, nullptr},
    {"memory.oom.policy", get_policy, set_policy},
    {"cgroup.stat", get_cgroup_stat, nullptr},
};
constexpr std::uint32_t nr_files = sizeof files / sizeof *files;

const tenant_file *find_file(const char *name) {
    for (const tenant_file &file : files)
        if (std::strcmp(file.name, name) == 0) return &file;
    return nullptr;
}

} // namespace

const char *tenant_file_name(std::uint32_t number) { return number < nr_files ? files[number].name : nullptr; }

long tenant_get(allot_tenant *handle, const char *name, char *buffer, std::size_t size) {
    const tenant_file *file = find_file(name);
    if (file == nullptr) return -ENOENT;
    line_writer out;
    {
        signals_blocked quiet;
        lock_scope registry(region().registry_lock.word, lock_rank::registry);
        tenant *t = tenant_from(handle);
        if (t == nullptr) return -ESTALE;
        file->get(*t, out);
    }
    if (size != 0) {
        std::size_t fits = out.length() < size ? out.length() : size - 1;
        std::memcpy(buffer, out.c_str(), fits);
        buffer[fits] = '\0';
    }
    return static_cast<long>(out.length());
}

int tenant_set(allot_tenant *handle, const char *name, const char *value) {
    const tenant_file *file = find_file(name);
    if (file == nullptr) return -ENOENT;
    if (file->set == nullptr) return -EACCES;
    signals_blocked quiet;
    lock_scope drain(region().drain_lock.word, lock_rank::drain);
    lock_scope registry(region().registry_lock.word, lock_rank::registry);
    tenant *t = tenant_from(handle);
    return t == nullptr ? -ESTALE : file->set(*t, value);
}

} // namespace allot
