#include "alloc/trace_stream.hpp"

#include "accounting/base/os.hpp"
#include "alloc/binding.hpp"
#include "alloc/metadata.hpp"

#include <cstring>
#include <time.h>

namespace allot {

namespace {

constexpr std::size_t text_max = 4096;
// A record with what may have to come before it: thread, owner with text, works_for; each has at most five numbers of ten bytes.
constexpr std::size_t room_for_one = 4 * 51 + text_max;
static_assert(room_for_one + sizeof(allot_trace_block) < ALLOT_TRACE_SLOT_BYTES_LEAST);

// By libc, which knows how to ask without a system call.
std::uint64_t clock_now() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1000000000u + static_cast<std::uint64_t>(now.tv_nsec);
}

std::uint32_t hash_of(const char *text) { // FNV-1a
    std::uint32_t hash = 2166136261u;
    for (; *text != '\0'; ++text) hash = (hash ^ static_cast<unsigned char>(*text)) * 16777619u;
    return hash;
}

} // namespace

// Numbers, put together before anything of it is in the block.
class trace_stream::record {
public:
    explicit record(allot_trace_kind kind) { bytes_[0] = static_cast<unsigned char>(kind); }
    record &number(std::uint64_t value) {
        bytes_[0] = static_cast<unsigned char>(bytes_[0] + (1u << 5));
        for (; value >= 0x80; value >>= 7) bytes_[length_++] = static_cast<unsigned char>(value | 0x80);
        bytes_[length_++] = static_cast<unsigned char>(value);
        return *this;
    }
    const unsigned char *bytes() const { return bytes_; }
    std::size_t length() const { return length_; }

private:
    unsigned char bytes_[51];
    std::size_t length_ = 1;
};

trace_problem trace_stream::add(const trace_event &event) {
    if (inside_.load(std::memory_order_relaxed)) {
        postpone(event);
        return trace_problem::none;
    }
    // relaxed, and a fence for the compiler: only handlers of this thread look.
    inside_.store(true, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    write(event);
    for (;;) {
        write_postponed();
        std::atomic_signal_fence(std::memory_order_seq_cst);
        inside_.store(false, std::memory_order_relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst);
        if (nr_postponed_.load(std::memory_order_relaxed) == 0) return problem_;
        inside_.store(true, std::memory_order_relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }
}

void trace_stream::postpone(const trace_event &event) {
    std::uint32_t place = nr_postponed_.fetch_add(1, std::memory_order_relaxed);
    if (place < nr_postponed_max)
        postponed_[place] = event;
    else
        nr_lost_.fetch_add(1, std::memory_order_relaxed);
}

void trace_stream::write_postponed() {
    std::uint32_t done = 0;
    for (std::uint32_t seen = nr_postponed_.load(std::memory_order_relaxed); seen != 0;) {
        for (; done < seen && done < nr_postponed_max; ++done) write(postponed_[done]);
        // Those that have come meanwhile are seen by the exchange.
        if (nr_postponed_.compare_exchange_strong(seen, 0, std::memory_order_relaxed)) break;
    }
    std::uint32_t lost = nr_lost_.exchange(0, std::memory_order_relaxed);
    if (lost != 0 && has_room()) put(record(ALLOT_TRACE_LOST).number(now_ - time_).number(lost));
}

void trace_stream::write(const trace_event &event) {
    if (problem_ != trace_problem::none) return;
    std::uint64_t now = clock_now();
    now_ = now > time_ ? now : time_;
    if (!has_room()) begin_block();
    if (problem_ != trace_problem::none) return;
    say_thread();
    record r(event.kind);
    switch (event.kind) {
    case ALLOT_TRACE_ALLOC: say_works_for(event.owner); [[fallthrough]];
    case ALLOT_TRACE_RESIZE:
        r.number(now_ - time_).number(difference_to(event.address)).number(event.requested);
        return put(r.number(event.usable - event.requested));
    case ALLOT_TRACE_FREE: return put(r.number(now_ - time_).number(difference_to(event.address)));
    case ALLOT_TRACE_TRANSFER:
        say_owner(event.owner);
        return put(r.number(now_ - time_).number(difference_to(event.address)).number(event.owner));
    default: return put(r.number(now_ - time_).number(event.requested));
    }
}

bool trace_stream::has_room() const {
    return at_ != nullptr && static_cast<std::size_t>(block_.start + block_.bytes - at_) > room_for_one;
}

bool trace_stream::is_copy_in_a_child() const { return forked_since_start() || image_.started != image_started_; }

void trace_stream::begin_block() {
    if (is_copy_in_a_child()) {
        problem_ = trace_problem::of_parent;
        return;
    }
    // Short streams, of which a tree of programs has many, take little; long ones seldom ask.
    std::uint32_t nr_slots = sequence_ < 4 ? 1u << sequence_ : ALLOT_TRACE_BLOCK_SLOTS_MAX;
    trace_space next = trace_file_claim(nr_slots);
    problem_ = next.problem;
    if (next.start == nullptr) return;
    if (block_.start != nullptr) trace_file_unmap(block_);
    block_ = next;
    at_ = block_.start + sizeof(allot_trace_block);
    thread_ = os_tid();
    time_ = now_;
    address_ = 0;
    owner_ = 0;
    for (known_owner &k : known_) k.owner = 0;
    fill_head(nr_slots);
    if (sequence_++ != 0) return;
    std::size_t length = std::strlen(image_.program);
    put(record(ALLOT_TRACE_PROGRAM).number(0).number(image_.parent).number(length), image_.program);
}

void trace_stream::fill_head(std::uint32_t nr_slots) {
    if (number_ == 0) number_ = image_.nr_streams.fetch_add(1, std::memory_order_relaxed) + 1;
    allot_trace_block &head = *reinterpret_cast<allot_trace_block *>(block_.start);
    head.nr_slots = nr_slots;
    head.pid = image_.pid;
    head.thread = thread_;
    head.image_started = image_started_;
    head.stream = number_;
    head.sequence = sequence_;
    head.time = time_;
    // release: a reader that sees it sees the rest. A child that was made since the claim leaves its block empty.
    if (!is_copy_in_a_child()) __atomic_store_n(&head.magic, ALLOT_TRACE_BLOCK_MAGIC, __ATOMIC_RELEASE);
}

void trace_stream::say_thread() {
    std::uint32_t thread = os_tid();
    if (thread == thread_) return;
    thread_ = thread;
    put(record(ALLOT_TRACE_THREAD).number(now_ - time_).number(thread));
}

// The path is looked at each time: a number may stand for another tenant than before.
void trace_stream::say_owner(std::uint32_t owner) {
    char path[text_max];
    hooks::owner_path(owner, path, sizeof path);
    std::uint32_t hash = hash_of(path);
    known_owner &known = known_[owner % nr_known];
    if (known.owner == owner && known.hash == hash) return;
    known = {owner, hash};
    put(record(ALLOT_TRACE_OWNER).number(now_ - time_).number(owner).number(std::strlen(path)), path);
}

void trace_stream::say_works_for(std::uint32_t owner) {
    if (owner == owner_) return;
    say_owner(owner);
    owner_ = owner;
    put(record(ALLOT_TRACE_WORKS_FOR).number(now_ - time_).number(owner));
}

void trace_stream::put(const record &r, const char *text) {
    // From here on a child of a fork, in the midst of it, would write what its parent writes.
    if (is_copy_in_a_child()) return;
    std::size_t length = r.length(), text_length = std::strlen(text);
    std::memcpy(at_ + length, text, text_length);
    std::memcpy(at_ + 1, r.bytes() + 1, length - 1);
    // release: what is behind it is there before it says so.
    __atomic_store_n(at_, r.bytes()[0], __ATOMIC_RELEASE);
    at_ += length + text_length;
    time_ = now_;
}

std::uint64_t trace_stream::difference_to(std::uint64_t address) {
    auto difference = static_cast<std::int64_t>(address - address_) / 16;
    address_ = address;
    return (static_cast<std::uint64_t>(difference) << 1) ^ static_cast<std::uint64_t>(difference >> 63);
}

} // namespace allot
