#include "alloc/trace.hpp"

#include "accounting/base/os.hpp"
#include "accounting/base/report.hpp"
#include "alloc/metadata.hpp"
#include "alloc/owner_vector.hpp"
#include "alloc/trace_stream.hpp"

#include <cerrno>
#include <cstring>
#include <new>
#include <sys/syscall.h>

namespace allot {

constinit std::uint32_t trace_on = 0;

namespace {

// Written before there are other threads.
constinit trace_image image{};

void begin_image() {
    image.pid = os_pid();
    image.parent = static_cast<std::uint32_t>(os_call(SYS_getppid));
    image.started = os_nanoseconds();
    image.nr_streams.store(0, std::memory_order_relaxed);
}

void warn(const char *what, trace_problem problem) {
    line_writer line;
    line.text("allot: warning: ").text(what).text(": ").text(trace_file_name()).text(" ").text(sentence_of(problem));
    line.text("\n");
    os_write_quietly(2, line.c_str(), line.length());
}

// Once a process. Other threads open their fast paths with their next operation.
void stop(trace_problem problem) {
    if (__atomic_exchange_n(&trace_on, 0, __ATOMIC_RELAXED) == 0) return;
    trace_file_note_stopped(problem);
    if (problem != trace_problem::forbidden) warn("the trace ends early", problem);
}

trace_stream *stream_of(home *h) {
    if (h->trace == nullptr)
        if (void *memory = metadata_alloc(sizeof(trace_stream)); memory != nullptr)
            h->trace = new (memory) trace_stream(image);
    return h->trace;
}

// A handler has forked since home_here() was asked, and this is the child, whose home is its parent's: it begins anew. Slow paths
// that are not recorded are entered so seldom that this is not looked at there.
bool is_parents(const home *h) { return thread_here.in_home != h || forked_since_start(); }

// A free is not to change errno, nor is anything else that succeeds.
void add(home *h, const trace_event &event) {
    if (is_parents(h)) return;
    int error = errno;
    trace_stream *stream = stream_of(h);
    trace_problem problem = stream == nullptr ? trace_problem::no_memory : stream->add(event);
    if (problem != trace_problem::none && problem != trace_problem::of_parent) stop(problem);
    errno = error;
}

std::uint64_t number_of(const void *block) { return reinterpret_cast<std::uintptr_t>(block); }

} // namespace

void trace_start(const char *path, const char *program) {
    std::strncpy(image.program, program, sizeof image.program - 1);
    begin_image();
    if (trace_problem problem = trace_file_open(path); problem != trace_problem::none)
        return warn("nothing is recorded", problem);
    write_shared(trace_on, 1U);
}

void trace_child_start(const char *path) {
    if (!trace_is_on()) return;
    begin_image();
    if (path == nullptr) return;
    if (trace_problem problem = trace_file_open(path); problem != trace_problem::none) {
        write_shared(trace_on, 0U);
        warn("nothing is recorded", problem);
    }
}

void trace_alloc_slow(home *h, const void *block, std::size_t requested, std::size_t usable) {
    add(h, {ALLOT_TRACE_ALLOC, number_of(block), requested, usable, h->current->owner});
}
void trace_free_slow(home *h, const void *block) { add(h, {ALLOT_TRACE_FREE, number_of(block), 0, 0, 0}); }
void trace_resize_slow(home *h, const void *block, std::size_t requested, std::size_t usable) {
    add(h, {ALLOT_TRACE_RESIZE, number_of(block), requested, usable, 0});
}
void trace_transfer_slow(home *h, const void *block, std::uint32_t owner) {
    add(h, {ALLOT_TRACE_TRANSFER, number_of(block), 0, 0, owner});
}
void trace_refused_slow(std::size_t requested) {
    home *h = home_here();
    if (h != nullptr && !h->busy) add(h, {ALLOT_TRACE_REFUSED, 0, requested, 0, 0});
}

namespace {

bool is_own_and_live(const home *h, const slab *s, const void *block) {
    return read_shared(s->owner) == h->tag && (number_of(block) & (granule_bytes - 1)) == 0 &&
           slot_starts_at(s, static_cast<std::uint32_t>(granule_of(block)) & granule_mask) &&
           !may_be_marked_free(block, s);
}

} // namespace

// After its farewell a thread leaves its home with each visit, so a visit there must be.
void *trace_fast_malloc_slow(home *h, std::size_t size) {
    if (thread_here.farewells != 0) return nullptr;
    heap *a = h->current;
    std::uint32_t owner = a->owner;
    void *block = malloc_from_choice(a, size);
    if (is_parents(h)) return block != nullptr ? block : malloc_slow(size);
    if (block != nullptr) add(h, {ALLOT_TRACE_ALLOC, number_of(block), size, slab_of(block)->slot_bytes, owner});
    return block;
}

bool trace_fast_free_slow(home *h, slab *s, void *block) {
    if (thread_here.farewells != 0) return false;
    if (!is_own_and_live(h, s, block)) {
        if (!is_parents(h)) return false;
        free_slow(block);
        return true;
    }
    trace_free_slow(h, block);
    slab_push(s, block);
    if (add_shared(s->countdown, minus_one_slot) == 0)
        free_place_slow(s);
    else if (choose(s); !hooks::uncharge(s->account))
        free_uncharge_slow(s);
    return true;
}

} // namespace allot
