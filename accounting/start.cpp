#include "accounting/accounting.hpp"
#include "accounting/base/fork_mark.hpp"
#include "accounting/base/os.hpp"
#include "accounting/base/report.hpp"
#include "accounting/child.hpp"
#include "accounting/context_table.hpp"
#include "accounting/drain.hpp"
#include "accounting/obj_cgroup.hpp"
#include "accounting/options.hpp"
#include "accounting/shared/file.hpp"
#include "accounting/shared/join.hpp"
#include "accounting/shared/members.hpp"
#include "accounting/shared/remote.hpp"
#include "accounting/tenant.hpp"
#include "accounting/tenant_files.hpp"
#include "accounting/text.hpp"

#include <cstring>

namespace allot {

namespace {

enum class start_state : std::uint32_t { not_started, starting, started, failed };

// Written by the thread that starts; read by every caller. acquire and release: who sees `started` sees the region.
constinit std::atomic<start_state> state{start_state::not_started};

// Guards all of accounting: a child of a fork finds it wiped.
constinit fork_mark this_process;

// Written once, by the allocator's start; read by the child that repairs. acquire and release: what the allocator had made
// before is there.
constinit std::atomic<void (*)()> repair{nullptr};

[[gnu::noinline]] bool be_this_process_slow() {
    signals_blocked quiet; // a handler must not come in the middle and find nothing usable
    fork_answer answer = this_process.ask();
    if (answer != fork_answer::new_process) return answer == fork_answer::same_process;
    // Before accounting has started, nobody can have been charged: this is its first call, perhaps the allocator's own.
    auto *everything = repair.load(std::memory_order_acquire);
    if (everything != nullptr && state.load(std::memory_order_relaxed) != start_state::not_started)
        everything();
    else
        accounting_child_start();
    this_process.repaired();
    return true;
}

// Books and locks that are seen afterwards are this process's own. False: called from within the repair.
bool be_this_process() { return this_process.is_repaired() || be_this_process_slow(); }

void apply(allot_tenant *t, const char *file, const char *value) {
    if (tenant_set(t, file, value) == 0) return;
    line_writer out;
    out.text("allot: ").text(file).text(" cannot be set to ").text(value);
    out.write();
}

// Limits that were asked for cannot hold as asked: that is said, once.
void warn_of_tenant(const char *path, const char *consequence) {
    line_writer line;
    line.text("allot: warning: tenant ").text(path).text(" cannot be made (too deep, or too many); ").text(consequence);
    line.write();
}

void create_tenants(const options &o) {
    const char *path = "";
    bool is_new = false;
    for (std::uint32_t i = 0; i < o.nr_tree; ++i) {
        if (std::strcmp(path, o.tree[i].path) != 0) is_new = is_new_to_others(o.tree[i].path);
        path = o.tree[i].path;
        allot_tenant *t = tenant_create_path(o.tree[i].path);
        if (t == nullptr) warn_of_tenant(o.tree[i].path, "its limits do not hold");
        if (t != nullptr && is_new && o.tree[i].file[0] != '\0') apply(t, o.tree[i].file, o.tree[i].value);
    }
    is_new = is_new_to_others(o.tenant);
    allot_tenant *own = tenant_create_path(o.tenant);
    if (own == nullptr) {
        warn_of_tenant(o.tenant, "the root takes its place, and its limits");
        own = tenant_root();
    }
    tenant_set_default(own);
    if (is_new) for_own_files(o, [&](const char *file, const char *value) { apply(own, file, value); });
    if (o.fail_after[0] == '\0') return;
    allot_tenant *failing = o.fail_after_path[0] == '\0' ? own : tenant_create_path(o.fail_after_path);
    if (failing == nullptr)
        warn_of_tenant(o.fail_after_path, "nothing fails on purpose");
    else
        apply(failing, "memory.fail", o.fail_after);
}

bool start(const options &o) {
    if (o.excluded) return false;
    const bool is_shared = join_others(o); // before the region: its root is the root of all
    if (!region_create()) return false;
    os_membarrier_start();
    if (is_shared) share_contexts();
    {
        lock_scope registry(region().registry_lock.word, lock_rank::registry);
        if (!create_root()) return false;
    }
    create_tenants(o);
    return true;
}

bool asks_for_a_limit(const options &o) {
    if (o.memory_max.text != nullptr) return true;
    for (std::uint32_t i = 0; i < o.nr_tree; ++i)
        if (same_text(o.tree[i].file, "memory.max", sizeof "memory.max" - 1)) return true;
    return false;
}

// Limits that were asked for and do not hold are told, once for a program image. Programs of a hierarchy are excluded
// on the command's line, often many of the same name: that is no news.
void warn_where_nothing_holds(const options &o) {
    if (!asks_for_a_limit(o) || (o.excluded && o.hierarchy[0] != '\0')) return;
    line_writer out;
    out.text("allot: warning: ");
    if (o.program[0] != '\0')
        out.text(o.program);
    else // there was no memory for its name either
        out.text("process ").number(os_pid());
    out.text(" runs without limits: ");
    out.text(o.excluded ? "it is excluded" : "there is no memory for its books").write();
}

} // namespace

void accounting_set_repair(void (*everything)()) { repair.store(everything, std::memory_order_release); }

bool accounting_start() {
    if (!be_this_process()) [[unlikely]]
        return false;
    start_state seen = state.load(std::memory_order_acquire);
    while (seen != start_state::started) [[unlikely]] {
            if (seen == start_state::failed) return false;
            if (seen == start_state::starting) {
                os_yield();
                seen = state.load(std::memory_order_acquire);
            } else if (state.compare_exchange_strong(seen, start_state::starting, std::memory_order_acquire)) {
                const options &o = options_get();
                seen = start(o) ? start_state::started : start_state::failed;
                if (seen == start_state::failed) warn_where_nothing_holds(o);
                state.store(seen, std::memory_order_release);
            }
        }
    return true;
}

void tenant_set_default(allot_tenant *handle) {
    const tenant *t = tenant_from(handle);
    if (t == nullptr) return;
    region().default_tenant.store(t->index, std::memory_order_release);
    if (shared::this_member != 0)
        shared::member_at(shared::this_member).node.store(t->counter.node, std::memory_order_release);
}

allot_tenant *tenant_default() {
    if (!region_is_mapped()) return nullptr;
    for (;;) {
        std::uint32_t index = region().default_tenant.load(std::memory_order_acquire);
        if (index == 0) return tenant_root();
        // acquire: if it has been destroyed meanwhile, its successor is seen here. No tenant ever follows a later one.
        allot_tenant *handle = handle_to(record_at<tenant>(index));
        if (region().default_tenant.load(std::memory_order_relaxed) == index) return handle;
    }
}

void accounting_seccomp_seen() {
    if (state.load(std::memory_order_acquire) == start_state::started && be_this_process()) membarrier_forbid();
}

void accounting_before_fork() {
    if (shared::is_attached()) shared::member_note_fork();
}

bool accounting_after_fork() {
    if (!shared::is_attached()) return false;
    shared::shield_contexts();
    return !holds_locks();
}

void accounting_finish() {
    if (!this_process.is_repaired()) return;
    if (state.load(std::memory_order_acquire) != start_state::started) return;
    if (shared::this_member != 0) shared::member_note_exit();
}

void accounting_child_start() {
    os_child_start();
    locks_child_start();
    switch (state.load(std::memory_order_relaxed)) {
    case start_state::started: child_start(options_get()); break;
    case start_state::starting: // by a thread that is not here: from the beginning, beside what it had mapped
        region_forget();
        state.store(start_state::not_started, std::memory_order_relaxed);
        break;
    case start_state::not_started:
    case start_state::failed: break;
    }
    if (state.load(std::memory_order_relaxed) != start_state::not_started) this_process.repaired();
}

} // namespace allot
