#include "accounting/accounting.hpp"
#include "accounting/base/os.hpp"
#include "accounting/base/report.hpp"
#include "accounting/context_table.hpp"
#include "accounting/obj_cgroup.hpp"
#include "accounting/shared/accounts.hpp"
#include "accounting/tenant.hpp"

#include <cstring>

namespace allot {

namespace {

// What was found, by index of tenant or handle; memory of its own, given back at the end.
class tally {
public:
    struct line {
        std::int64_t bytes, objects;
    };
    explicit tally(std::uint32_t count)
        : bytes_((std::uint64_t{count} + 1) * sizeof(line)), at_(os_map(bytes_)), count_(count) {}
    ~tally() {
        if (at_ != 0) os_unmap(at_, bytes_);
    }
    tally(const tally &) = delete;
    tally &operator=(const tally &) = delete;
    bool is_there() const { return at_ != 0; }
    // What has an index beyond the tables counts as index 0, which must stay empty.
    line &operator[](std::uint32_t index) { return reinterpret_cast<line *>(at_)[index < count_ ? index : 0]; }

private:
    std::uint64_t bytes_;
    std::uintptr_t at_;
    std::uint32_t count_;
};

// Set once, before threads; acquire and release for whoever does it later.
constinit std::atomic<recount_source> source{nullptr};

class differences {
public:
    explicit differences(verify_result &result) : result_(result) {}

    void expect(const tenant &t, const char *what, std::int64_t is, std::int64_t should_be) {
        if (is == should_be) return;
        if (result_.differences++ != 0) return;
        line_writer out;
        char path[100];
        write_path(t, path, sizeof path);
        out.name(path)
            .text(": ")
            .text(what)
            .text(" is ")
            .signed_number(is)
            .text(" and should be ")
            .signed_number(should_be);
        out.text(".");
        copy(out);
    }
    void expect(const context &c, bool holds, const char *what) {
        if (holds || result_.differences++ != 0) return;
        line_writer out;
        out.text("context ").number(c.index).text(": ").text(what);
        copy(out);
    }

private:
    void copy(const line_writer &out) {
        std::size_t length = out.length() < sizeof result_.first ? out.length() : sizeof result_.first - 1;
        std::memcpy(result_.first, out.c_str(), length);
        result_.first[length] = '\0';
    }
    verify_result &result_;
};

void check_context(const context &c, differences &found) {
    std::int64_t unused = context_unused(c);
    net_word net = c.net.load(std::memory_order_relaxed);
    net_word hi = c.hi.load(std::memory_order_relaxed);
    bool is_sealed = has_flag(c, context_sealed);
    found.expect(c, unused >= 0, "more lives than is charged.");
    found.expect(c, c.lock.load(std::memory_order_relaxed) == 0, "its lock is held.");
    // Another process has sealed it, which leaves its flags alone: its owner's next operation sorts that out.
    if (shared::is_attached() && !is_sealed && c.lo.load(std::memory_order_relaxed) == sealed_lo) return;
    found.expect(c, is_sealed == (c.lo.load(std::memory_order_relaxed) == sealed_lo), "lo is not what its seal says.");
    found.expect(c, !is_sealed || hi < sealed_hi + (net_word{1} << 32), "hi is open although it is sealed.");
    bool holds = !is_sealed || (unused > 0 && region().handlers_left.load(std::memory_order_relaxed) == 0);
    found.expect(c, !holds || has_flag(c, context_holding), "it holds stock and is not counted.");
    std::int64_t stock = c.stock.load(std::memory_order_relaxed);
    found.expect(c, c.swing <= swing_bytes_max && c.returned <= swing_bytes_max, "its swing is beyond its bound.");
    found.expect(c, is_sealed || hi == hi_of(stock, cold_of(c).epoch), "hi does not follow from stock.");
    found.expect(c, is_sealed || (net > hi) == (net_bytes(net) > stock), "hi lets more pass than is charged.");
}

// Slab bytes of one tenant by its own books, and what it has charged in all, without its descendants.
struct own_sums {
    std::int64_t slab, objects, charged, holding;
};

own_sums sum_own(const tenant &t, differences &found) {
    if (is_shared(t) && t.counter.account != 0) shared::account_settle(t.counter.account);
    own_sums sums{lines_of(t).settled_bytes.load(std::memory_order_relaxed),
                  lines_of(t).settled_objects.load(std::memory_order_relaxed), 0, 0};
    std::int64_t unused = 0;
    for (context_record *c = record_of<context_record>(t.first_context); c != nullptr;
         c = record_of<context_record>(c->cold.next)) {
        check_context(c->hot, found);
        net_word net = c->hot.net.load(std::memory_order_relaxed);
        sums.slab += c->cold.settled_bytes.load(std::memory_order_relaxed) + net_bytes(net);
        sums.objects += c->cold.settled_objects.load(std::memory_order_relaxed) + net_objects(net);
        unused += context_unused(c->hot);
        sums.holding += has_flag(c->hot, context_holding);
    }
    // What handlers could not give back is charged, and in its line, until it is taken.
    sums.charged = sums.slab + unused + lines_of(t).large.load(std::memory_order_relaxed) +
                   lines_of(t).external.load(std::memory_order_relaxed);
    return sums;
}

void check_protection(const tenant &t, differences &found) {
    if (is_shared(t)) return; // computed when it is needed
    const page_counter &c = t.counter;
    auto part = [&](const std::atomic<std::uint64_t> &setting) {
        std::uint64_t set = setting.load(std::memory_order_relaxed), used = usage(c);
        return static_cast<std::int64_t>(set < used ? set : used);
    };
    found.expect(t, "min_usage", static_cast<std::int64_t>(c.min_usage.load(std::memory_order_relaxed)), part(c.min));
    found.expect(t, "low_usage", static_cast<std::int64_t>(c.low_usage.load(std::memory_order_relaxed)), part(c.low));
    std::int64_t min_sum = 0, low_sum = 0;
    for (tenant *child = record_of<tenant>(t.first_child); child != nullptr;
         child = record_of<tenant>(child->next_sibling)) {
        min_sum += static_cast<std::int64_t>(child->counter.min_usage.load(std::memory_order_relaxed));
        low_sum += static_cast<std::int64_t>(child->counter.low_usage.load(std::memory_order_relaxed));
    }
    found.expect(t, "children_min_usage",
                 static_cast<std::int64_t>(c.children_min_usage.load(std::memory_order_relaxed)), min_sum);
    found.expect(t, "children_low_usage",
                 static_cast<std::int64_t>(c.children_low_usage.load(std::memory_order_relaxed)), low_sum);
}

void add_to_handle(void *state, std::uint32_t obj_cgroup, std::uint64_t bytes, std::uint64_t objects) {
    tally::line &line = (*static_cast<tally *>(state))[obj_cgroup];
    line.bytes += static_cast<std::int64_t>(bytes);
    line.objects += static_cast<std::int64_t>(objects);
}

} // namespace

void verify_set_source(recount_source s) { source.store(s, std::memory_order_release); }

verify_result verify() {
    verify_result result{};
    if (!region_is_mapped()) return result;
    differences found(result);
    recount_source recount = source.load(std::memory_order_acquire);
    tally of_handles(record_count<obj_cgroup>());
    if (recount != nullptr && of_handles.is_there()) {
        recount_sink sink{&of_handles, add_to_handle};
        recount(sink); // no lock held: it walks the allocator's own structures
    }
    signals_blocked quiet;
    lock_scope registry(region().registry_lock.word, lock_rank::registry);
    tally charged(record_count<tenant>());
    if (!of_handles.is_there() || !charged.is_there()) {
        result.differences = 1;
        std::strcpy(result.first, "There is no memory for a recount.");
        return result;
    }
    for (tenant *t = &root_tenant(); t != nullptr; t = next_in_subtree(*t, root_tenant())) {
        ++result.tenants;
        own_sums own = sum_own(*t, found);
        if (recount != nullptr) {
            tally::line live{};
            for (obj_cgroup *o = record_of<obj_cgroup>(t->first_handle); o != nullptr;
                 o = record_of<obj_cgroup>(o->next)) {
                live.bytes += of_handles[index_of(*o)].bytes;
                live.objects += of_handles[index_of(*o)].objects;
            }
            // What it pays for since the process died that it was forked from is of no slab of its own.
            if (is_shared(*t))
                live.bytes += shared::account_at(t->counter.account).passed_left.load(std::memory_order_relaxed);
            found.expect(*t, "slab", own.slab, live.bytes);
            found.expect(*t, "objects", own.objects, live.objects);
        }
        if (is_shared(*t))
            found.expect(*t, "what this process is charged",
                         static_cast<std::int64_t>(
                             shared::account_at(t->counter.account).charged.value.load(std::memory_order_relaxed)),
                         own.charged);
        for (tenant *at = t; at != nullptr; at = parent_of(*at)) {
            charged[at->index].bytes += own.charged;
            charged[at->index].objects += own.holding;
        }
    }
    for (tenant *t = &root_tenant(); t != nullptr; t = next_in_subtree(*t, root_tenant())) {
        if (!is_shared(*t))
            found.expect(*t, "usage", t->counter.word.load(std::memory_order_relaxed) >> usage_shift,
                         charged[t->index].bytes);
        found.expect(*t, "nr_holding", t->counter.nr_holding.load(std::memory_order_relaxed),
                     charged[t->index].objects);
        check_protection(*t, found);
    }
    if (of_handles[0].bytes != 0) found.expect(root_tenant(), "what unknown owners hold", of_handles[0].bytes, 0);
    return result;
}

} // namespace allot
