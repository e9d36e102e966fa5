#include "tools/trace_summary.hpp"

#include <algorithm>
#include <bit>

namespace allot {

trace_summary::trace_summary(trace_reader &reader) {
    trace_event event;
    while (reader.next(event)) add(event);
    tenants_.resize(reader.tenants().size());
    images_.resize(reader.images().size());
    threads_.resize(reader.threads().size());
}

void trace_summary::add(const trace_event &e) {
    grow(e);
    if (e.kind == trace_event_kind::image_ends) return end_image(e.image);
    for (trace_counts *c : {&all_, &tenants_[e.tenant], &images_[e.image], &threads_[e.thread]})
        if (!e.is_implied) count(*c, e);
    if (!e.is_known) return;
    switch (e.kind) {
    case trace_event_kind::alloc: {
        raise(e, e.tenant, e.usable);
        trace_size_counts &size = sizes_[static_cast<std::size_t>(e.usable < 2 ? 0 : std::bit_width(e.usable - 1))];
        ++size.allocs;
        size.requested_bytes += e.requested;
        size.allocated_bytes += e.usable;
        break;
    }
    case trace_event_kind::free: lower(e, e.tenant, e.usable); break;
    case trace_event_kind::resize:
        lower(e, e.tenant, e.usable_before);
        raise(e, e.tenant, e.usable);
        break;
    case trace_event_kind::transfer:
        lower(e, e.tenant_before, e.usable);
        raise(e, e.tenant, e.usable);
        break;
    case trace_event_kind::refused:
    case trace_event_kind::image_ends: break;
    }
}

void trace_summary::grow(const trace_event &e) {
    const auto reach = [](auto &table, std::size_t index) {
        if (table.size() <= index) table.resize(index + 1);
    };
    reach(tenants_, std::max(e.tenant, e.tenant_before));
    reach(images_, e.image);
    reach(live_, e.image);
    reach(threads_, e.thread);
    if (!has_begun_) begin_ = e.time;
    has_begun_ = true;
    end_ = e.time;
}

void trace_summary::count(trace_counts &c, const trace_event &e) {
    switch (e.kind) {
    case trace_event_kind::alloc:
        ++c.allocs;
        c.requested_bytes += e.requested;
        c.allocated_bytes += e.usable;
        break;
    case trace_event_kind::free: ++c.frees; break;
    case trace_event_kind::resize: ++c.resizes; break;
    case trace_event_kind::transfer: ++c.transfers; break;
    case trace_event_kind::refused: ++c.refusals; break;
    case trace_event_kind::image_ends: break;
    }
}

void trace_summary::raise(const trace_event &e, std::uint32_t tenant, std::uint64_t bytes) {
    for (trace_counts *c : {&all_, &tenants_[tenant], &images_[e.image]}) {
        c->live += bytes;
        if (c->live <= c->live_peak) continue;
        c->live_peak = c->live;
        c->live_peak_time = e.time;
    }
    live_[e.image][tenant] += bytes;
}

void trace_summary::lower(const trace_event &e, std::uint32_t tenant, std::uint64_t bytes) {
    for (trace_counts *c : {&all_, &tenants_[tenant], &images_[e.image]}) c->live -= bytes;
    live_[e.image][tenant] -= bytes;
}

// What it had goes with it. Its own row keeps what it had at its end.
void trace_summary::end_image(std::uint32_t image) {
    for (const auto &[tenant, bytes] : live_[image]) {
        all_.live -= bytes;
        tenants_[tenant].live -= bytes;
    }
    live_[image].clear();
}

} // namespace allot
