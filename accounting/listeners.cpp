#include "accounting/listeners.hpp"

#include "accounting/base/os.hpp"
#include "accounting/obj_cgroup.hpp"
#include "accounting/thread_charges.hpp"

#include <cerrno>

#include <sys/eventfd.h>
#include <sys/syscall.h>

namespace allot {

namespace {

// Our own descriptors get numbers that programs do not look at.
constexpr int high_number = 800;

bool are_events(std::uint32_t events) { return events != 0 && (events & ~all_events) == 0; }

// Filled in by `fill`, begun, and told nothing of what has been counted before.
template<class Fill>
int begin(allot_tenant *tenant, std::uint32_t events, registration_kind kind, Fill fill) {
    signals_blocked quiet;
    lock_scope registry(region().registry_lock.word, lock_rank::registry);
    allot::tenant *t = tenant_from(tenant);
    if (t == nullptr) return -ESTALE;
    registration *r = registration_new();
    if (r == nullptr) return -ENOMEM;
    r->events = events;
    for (std::uint32_t e = 0; e < allot_nr_events; ++e) r->delivered[e] = t->events[e].load(std::memory_order_relaxed);
    fill(*r);
    return registration_begin(*r, *t, kind);
}

} // namespace

int listener_add(allot_tenant *tenant, std::uint32_t events, allot_event_callback callback, void *argument) {
    if (!are_events(events) || callback == nullptr) return -EINVAL;
    return begin(tenant, events, registration_kind::callback, [&](registration &r) {
        r.callback = callback;
        r.argument = argument;
    });
}

// --- descriptors ------------------------------------------------------------------------------------------------------

namespace {

// The one that gave out that number; registry lock.
registration *giver_of(int descriptor) {
    for (std::uint32_t index = 1; index < registration_count(); ++index) {
        registration *r = registration_at(index);
        if (r == nullptr || r->kind.load(std::memory_order_relaxed) != registration_kind::descriptor) continue;
        if (r->users_descriptor == descriptor) return r;
    }
    return nullptr;
}

// The system has given the numbers out again, so whoever had them has closed them, or the program ours.
void forget_old_ones(int users, int own) {
    signals_blocked quiet;
    lock_scope registry(region().registry_lock.word, lock_rank::registry);
    for (std::uint32_t index = 1; index < registration_count(); ++index)
        if (registration *r = registration_at(index); r != nullptr && r->descriptor == own) r->descriptor = -1;
    if (registration *r = giver_of(users)) registration_end(*r);
}

} // namespace

int event_descriptor_add(allot_tenant *tenant, std::uint32_t events) {
    if (!are_events(events)) return -EINVAL;
    long made = os_call(SYS_eventfd2, 0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (made < 0) return static_cast<int>(made);
    int users = static_cast<int>(made);
    // What the program does with its number, closing it, must not make us write to another file.
    int own = os_duplicate(users, high_number);
    if (own < 0) own = os_duplicate(users, 3);
    if (own < 0) {
        os_close(users);
        return own;
    }
    forget_old_ones(users, own);
    os_mark(own);
    int id = begin(tenant, events, registration_kind::descriptor, [&](registration &r) {
        r.descriptor = own;
        r.users_descriptor = users;
        r.identity = os_identity_of(own);
    });
    if (id >= 0) return users;
    os_close(own);
    os_close(users);
    return id;
}

int event_descriptor_remove(int descriptor) {
    {
        signals_blocked quiet;
        lock_scope registry(region().registry_lock.word, lock_rank::registry);
        registration *r = giver_of(descriptor);
        if (r == nullptr) return -EBADF;
        registration_end(*r);
    }
    os_close(descriptor);
    return 0;
}

// --- delivery ---------------------------------------------------------------------------------------------------------

namespace {

// What a listener has to be told, taken under the registry lock.
struct delivery {
    registration_call call;
    allot_tenant *tenant;
    registration_kind kind;
    allot_event_callback callback;
    void *argument;
    int descriptor;
    std::uint64_t counts[allot_nr_events];
};

enum class telling : std::uint32_t { everyone, descriptors };

// False: nothing.
bool take(registration &r, telling whom, delivery &d) {
    const tenant *t = tenant_from(r.tenant);
    if (t == nullptr) return false;
    bool is_callback = r.kind.load(std::memory_order_relaxed) == registration_kind::callback;
    if (is_callback && whom == telling::descriptors) return false;
    std::uint64_t any = 0;
    for (std::uint32_t e = 0; e < allot_nr_events; ++e) {
        d.counts[e] = 0;
        if ((r.events >> e & 1) == 0) continue;
        std::uint64_t now = t->events[e].load(std::memory_order_relaxed);
        any |= d.counts[e] = now - r.delivered[e];
        r.delivered[e] = now;
    }
    if (any == 0) return false;
    d.tenant = r.tenant;
    d.kind = r.kind.load(std::memory_order_relaxed);
    d.callback = r.callback;
    d.argument = r.argument;
    d.descriptor = r.descriptor;
    if (d.kind == registration_kind::descriptor && !registration_has_its_descriptor(r)) return false;
    call_begin(d.call, r);
    return true;
}

void tell(const delivery &d) {
    if (d.kind == registration_kind::descriptor) {
        std::uint64_t sum = 0;
        for (std::uint64_t count : d.counts) sum += count;
        // A descriptor that nobody reads is full after 2^64 events.
        (void)os_call(SYS_write, d.descriptor, reinterpret_cast<long>(&sum), sizeof sum);
        return;
    }
    user_code_scope user_code;
    for (std::uint32_t e = 0; e < allot_nr_events; ++e)
        if (d.counts[e] != 0) d.callback(d.tenant, static_cast<allot_event>(e), d.counts[e], d.argument);
}

} // namespace

void deliver_events(allot_tenant *from) {
    if (!any_registered(registration_list::listeners) || holds_locks()) return;
    // An event loop is not user code of this thread's, and may hear of this one event only.
    const telling whom = may_call_user_code() ? telling::everyone : telling::descriptors;
    delivery d;
    bool is_called = false;
    for (;;) {
        {
            signals_blocked quiet;
            lock_scope registry(region().registry_lock.word, lock_rank::registry);
            registration *at;
            if (is_called) {
                at = next_listener(*d.call.pinned); // before its pin goes, and with it perhaps its place
                call_end(d.call);
            } else {
                at = first_listener_from(tenant_or_heir(from));
            }
            is_called = false;
            for (; at != nullptr && !is_called; at = is_called ? at : next_listener(*at))
                is_called = take(*at, whom, d);
        }
        if (!is_called) return;
        tell(d);
    }
}

} // namespace allot
