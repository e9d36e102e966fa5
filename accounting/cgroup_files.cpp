#include "accounting/cgroup_files.hpp"

#include "accounting/accounting.hpp"
#include "accounting/base/os.hpp"
#include "accounting/charge.hpp"
#include "accounting/context_table.hpp"
#include "accounting/memory_files.hpp"
#include "accounting/obj_cgroup.hpp"
#include "accounting/shared/members.hpp"
#include "accounting/shared/victims.hpp"
#include "accounting/tenant.hpp"

#include <cerrno>

namespace allot {

namespace {

const tenant &tenant_of_process() {
    const tenant *t = tenant_from(tenant_default());
    return t == nullptr ? root_tenant() : *t;
}

bool has_thread(const tenant &t) {
    for (const context_record *c = record_of<context_record>(t.first_context); c != nullptr;
         c = record_of<context_record>(c->cold.next))
        if (c->cold.thread != 0) return true;
    return false;
}

bool is_populated(const tenant &top) {
    if (is_at_or_below(tenant_of_process(), top)) return true;
    for (const tenant *t = &top; t != nullptr; t = next_in_subtree(*t, top))
        if (has_thread(*t)) return true;
    return false;
}

} // namespace

void get_procs(const tenant &t, file_text &out) {
    if (is_shared(t)) {
        for (std::uint32_t m = shared::next_member(1); m != 0; m = shared::next_member(m + 1)) {
            const shared::member &who = shared::member_at(m);
            if (who.node.load(std::memory_order_relaxed) == t.counter.node && shared::member_is_alive(m))
                out.number(shared::pid_in(who.identity.load(std::memory_order_acquire))).text("\n");
        }
        return;
    }
    if (&tenant_of_process() == &t) out.number(os_pid()).text("\n");
}

void get_cgroup_events(const tenant &t, file_text &out) {
    out.line("populated", is_populated(t) ? 1 : 0).line("frozen", 0); // nothing here can be frozen
}

void get_max_descendants(const tenant &t, file_text &out) {
    std::uint32_t max = figures_of(t).descendants_max.load(std::memory_order_relaxed);
    if (max == no_descendants_max)
        out.text("max\n");
    else
        out.number(max).text("\n");
}

int set_max_descendants(tenant &t, const char *value) {
    std::uint64_t number = no_descendants_max;
    const char *end = nullptr;
    if (!is_word(value, "max") &&
        (!parse_number(after_blanks(value), number, end) || !is_word(end, "") || number >= no_descendants_max))
        return -EINVAL;
    figures_of(t).descendants_max.store(static_cast<std::uint32_t>(number), std::memory_order_relaxed);
    return 0;
}

// A destroyed tenant whose handle is still named by objects counts as dying, as in the kernel.
void get_cgroup_stat(const tenant &t, file_text &out) {
    std::uint64_t handles = 0;
    for (const tenant *at = &t; at != nullptr; at = next_in_subtree(*at, t)) handles += at->nr_handles;
    out.line("nr_descendants", t.nr_descendants);
    out.line("nr_dying_descendants", handles - t.nr_descendants - 1);
}

int kill_all(allot_tenant *handle, const char *value) {
    if (!is_word(value, "1")) return -EINVAL;
    bool is_own = false;
    std::uint32_t node = 0;
    {
        signals_blocked quiet;
        lock_scope registry(region().registry_lock.word, lock_rank::registry);
        tenant *t = tenant_from(handle);
        if (t == nullptr) return -ESTALE;
        node = t->counter.node;
        is_own = is_at_or_below(tenant_of_process(), *t);
    }
    if (node != 0)
        shared::end_all_below(node);
    else if (is_own)
        os_kill(os_pid());
    return 0;
}

} // namespace allot
