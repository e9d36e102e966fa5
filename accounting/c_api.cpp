#include "accounting/accounting.hpp"
#include "accounting/external.hpp"
#include "accounting/listeners.hpp"
#include "accounting/shrinkers.hpp"
#include "accounting/tenant.hpp"
#include "accounting/tenant_files.hpp"
#include "accounting/thread_charges.hpp"

#include <allot/tenant.h>

#include <cerrno>
#include <cstring>

using namespace allot;

// What each does, and its errors, is in <allot/tenant.h>.

namespace {

// By reference: the error is written while the first argument is evaluated.
allot_tenant *with_errno(allot_tenant *t, const int &error) {
    if (t == nullptr) errno = -error;
    return t;
}

allot_tenant *or_root(allot_tenant *t) { return t == nullptr ? tenant_root() : t; }

} // namespace

extern "C" {

allot_tenant *allot_root(void) {
    if (accounting_start()) return tenant_root();
    errno = ENOMEM;
    return nullptr;
}

allot_tenant *allot_tenant_create(allot_tenant *parent, const char *name) {
    int error = -ENOMEM;
    return with_errno(accounting_start() ? tenant_create(parent, name, error) : nullptr, error);
}

allot_tenant *allot_tenant_open(const char *path) {
    int error = -ENOMEM;
    return with_errno(accounting_start() ? tenant_open(path, error) : nullptr, error);
}

int allot_tenant_destroy(allot_tenant *tenant) {
    return accounting_start() ? tenant_destroy(or_root(tenant)) : -ENOMEM;
}

int allot_tenant_set(allot_tenant *tenant, const char *file, const char *value) {
    if (file == nullptr || value == nullptr) return -EINVAL;
    return accounting_start() ? tenant_set(or_root(tenant), file, value) : -ENOMEM;
}

ssize_t allot_tenant_get(allot_tenant *tenant, const char *file, char *buffer, size_t size) {
    if (file == nullptr || (buffer == nullptr && size != 0)) return -EINVAL;
    return accounting_start() ? tenant_get(or_root(tenant), file, buffer, size) : -ENOMEM;
}

uint64_t allot_tenant_current(allot_tenant *tenant) { return accounting_start() ? tenant_current(or_root(tenant)) : 0; }

int allot_try_charge(allot_tenant *tenant, size_t bytes) {
    return accounting_start() ? external_charge(or_root(tenant), bytes) : -ENOMEM;
}

void allot_uncharge(allot_tenant *tenant, size_t bytes) {
    if (accounting_start()) external_uncharge(or_root(tenant), bytes);
}

void allot_emergency_begin(void) { emergency_begin(); }
void allot_emergency_end(void) { emergency_end(); }

int allot_shrinker_register(allot_tenant *tenant, allot_shrinker_count count, allot_shrinker_scan scan,
                            void *argument) {
    return accounting_start() ? shrinker_add(or_root(tenant), count, scan, argument) : -ENOMEM;
}

int allot_shrinker_unregister(int id) { return accounting_start() ? shrinker_remove(id) : -ENOENT; }

int allot_on_event(allot_tenant *tenant, unsigned events, allot_event_callback callback, void *argument) {
    return accounting_start() ? listener_add(or_root(tenant), events, callback, argument) : -ENOMEM;
}

int allot_off_event(int id) { return accounting_start() ? listener_remove(id) : -ENOENT; }

int allot_event_fd(allot_tenant *tenant, unsigned events) {
    return accounting_start() ? event_descriptor_add(or_root(tenant), events) : -ENOMEM;
}

int allot_event_fd_close(int fd) { return accounting_start() ? event_descriptor_remove(fd) : -EBADF; }

int allot_verify(allot_verify_report *report) {
    if (!accounting_start()) return -ENOMEM;
    verify_result result = verify();
    if (report != nullptr) {
        report->tenants = result.tenants;
        report->differences = result.differences;
        static_assert(sizeof report->first == sizeof result.first);
        std::memcpy(report->first, result.first, sizeof result.first);
    }
    return result.differences == 0 ? 0 : -EUCLEAN;
}

} // extern "C"
