#include "accounting/shared/join.hpp"

#include "accounting/base/os.hpp"
#include "accounting/base/report.hpp"
#include "accounting/context_table.hpp"
#include "accounting/shared/accounts.hpp"
#include "accounting/shared/file.hpp"
#include "accounting/shared/lease.hpp"
#include "accounting/shared/ledger.hpp"
#include "accounting/shared/members.hpp"
#include "accounting/shared/nodes.hpp"
#include "accounting/shared/remote.hpp"
#include "accounting/tenant.hpp"

namespace allot {

namespace {

// This process made the file. Written at its start, by its first thread.
constinit bool is_new_file = false;

void say_why_not(const options &o, const char *why) {
    line_writer out;
    out.text("allot: warning: process ")
        .number(os_pid())
        .text(" cannot share ")
        .text(o.dir)
        .text("/")
        .text(o.hierarchy);
    out.text(" (").text(why).text("); its limits hold for it alone").write();
}

// Of the region's own table, before share_contexts(). Written at start; read by a forked child.
constinit std::uint32_t own_contexts_mapped = 0;

constexpr auto contexts = static_cast<std::uint32_t>(table::contexts);

// Each process that begins looks after a few that may have ended, others each time: what the dead held is not to be counted for
// long with what their successors take.
void reap_some() {
    constexpr std::uint32_t looks_max = 16;
    const std::uint32_t end = shared::used(shared::part::accounts);
    if (end <= 1) return;
    const std::uint64_t born = shared::member_at(shared::this_member).born.load(std::memory_order_relaxed);
    const auto from = static_cast<std::uint32_t>(born * looks_max % end);
    std::uint32_t looked = 0;
    for (std::uint32_t i = 0; i < end && looked < looks_max; ++i) {
        const std::uint32_t index = (from + i) % end;
        if (index == 0) continue;
        const std::uint64_t owner = shared::account_at(index).owner.load(std::memory_order_acquire);
        const std::uint32_t member = shared::member_of_tag(shared::high_of(owner));
        if (owner == 0 || member == shared::this_member) continue;
        ++looked;
        (void)shared::reap(member);
    }
}

} // namespace

bool join_others(const options &o) {
    if (o.hierarchy[0] == '\0' || o.dir[0] == '\0') return false;
    const shared::attached_file file = shared::attach(o.dir, o.hierarchy, shared::if_missing::make);
    if (file.error == shared::attach_error::none && shared::member_join(shared::root_node, 0)) {
        is_new_file = file.is_new;
        lock_set_broken(shared::ledger_flush);
        reap_some();
        return true;
    }
    say_why_not(o, file.error == shared::attach_error::none ? "it is full" : shared::attach_error_text(file.error));
    if (file.error == shared::attach_error::none) shared::detach();
    return false;
}

void share_contexts() {
    own_contexts_mapped = the_region.mapped[contexts].load(std::memory_order_relaxed);
    the_region.records[contexts] = shared::context_address(0);
    the_region.mapped[contexts].store(shared::nr_contexts, std::memory_order_release);
    if (!os_register_membarrier_of_all()) os_set_membarrier_mode(membarrier_mode::unavailable);
}

bool is_new_to_others(const char *path) {
    return !shared::is_attached() || is_new_file || shared::node_open(path).node == 0;
}

namespace {

// What the parent has charged at the tenant and uses; with what it has inherited itself.
std::int64_t used_by_parent(std::uint32_t index) {
    const shared::account &a = shared::account_at(index);
    const std::uint64_t charged = a.charged.value.load(std::memory_order_relaxed);
    const std::uint64_t unused = shared::unused_of_account(index);
    const std::int64_t before =
        a.inherited.load(std::memory_order_relaxed) - static_cast<std::int64_t>(shared::account_unsettled(a));
    return static_cast<std::int64_t>(charged > unused ? charged - unused : 0) + (before > 0 ? before : 0);
}

} // namespace

namespace {

// Its tree is its own from now on, with the limits of this moment.
void leave_others() {
    for (std::uint32_t index = 1; index < record_count<tenant>(); ++index) {
        tenant &t = record_at<tenant>(index);
        if (!is_shared(t)) continue;
        const level_figures shared_ones = figures_of(t);
        t.counter.node = t.counter.account = 0;
        const level_figures own = figures_of(t);
        auto copy = [](auto &to, const auto &from) {
            to.store(from.load(std::memory_order_relaxed), std::memory_order_relaxed);
        };
        copy(own.min, shared_ones.min);
        copy(own.low, shared_ones.low);
        copy(own.high, shared_ones.high);
        copy(own.max, shared_ones.max);
        copy(own.headroom, shared_ones.headroom);
        copy(own.on_refusal, shared_ones.on_refusal);
        copy(own.kills_group, shared_ones.kills_group);
        copy(own.throttle, shared_ones.throttle);
    }
    the_region.records[contexts] = the_region.base + table_start(table::contexts, the_region.window_shift);
    the_region.mapped[contexts].store(own_contexts_mapped, std::memory_order_release);
    shared::this_member = shared::this_tag = 0;
    shared::detach();
}

} // namespace

void join_as_copy() {
    if (!shared::is_attached()) return;
    const std::uint32_t parent = shared::this_member;
    if (!shared::member_join(shared::member_at(parent).node.load(std::memory_order_relaxed), parent)) {
        line_writer out;
        out.text("allot: warning: the forked process ")
            .number(os_pid())
            .text(" finds no room in its hierarchy; its limits hold for it alone")
            .write();
        leave_others();
        return;
    }
    if (!os_register_membarrier_of_all()) os_set_membarrier_mode(membarrier_mode::unavailable);
}

void joined_as_copy() {
    if (shared::this_member != 0 && shared::may_look_at_others()) reap_some();
}

void take_over_tenant(tenant &t) {
    if (!is_shared(t) || t.counter.account == 0) return;
    const std::int64_t inherits = used_by_parent(t.counter.account);
    t.counter.account = 0;
    if (inherits == 0 || !has_account(t)) return;
    shared::account_at(t.counter.account).inherited.store(inherits, std::memory_order_relaxed);
}

} // namespace allot
