#include "tools/trace_reader.hpp"

#include <algorithm>
#include <limits>

namespace allot {
namespace {

constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();

std::uint64_t add_saturating(std::uint64_t a, std::uint64_t b) { return a > most - b ? most : a + b; }

// The events that a kind of record becomes, and how many numbers it has, its time included.
struct event_form {
    std::uint32_t record;
    trace_event_kind event;
    std::uint32_t nr_numbers;
};
constexpr event_form event_forms[] = {
    {ALLOT_TRACE_ALLOC, trace_event_kind::alloc, 4},     {ALLOT_TRACE_FREE, trace_event_kind::free, 2},
    {ALLOT_TRACE_RESIZE, trace_event_kind::resize, 4},   {ALLOT_TRACE_TRANSFER, trace_event_kind::transfer, 3},
    {ALLOT_TRACE_REFUSED, trace_event_kind::refused, 2},
};

const event_form *form_of(std::uint32_t record) {
    for (const event_form &form : event_forms)
        if (form.record == record) return &form;
    return nullptr;
}

} // namespace

// One stream: where its next event is, and what its records refer to.
class trace_reader::cursor {
public:
    cursor(trace_reader &reader, const trace_blocks &file, const std::vector<trace_block_place> &blocks,
           std::uint32_t image)
        : reader_(reader), file_(file), blocks_(blocks), image_(image) {}

    trace_event event; // the next one, if find_next() said so
    std::uint32_t image() const { return image_; }

    [[nodiscard]] bool find_next() {
        for (;;) {
            trace_record record;
            const trace_step step = read_trace_record(rest_, record);
            if (step == trace_step::record) {
                ++reader_.nr_records_;
                if (take(record)) return true;
                continue;
            }
            if (step == trace_step::torn) ++reader_.damage_.torn_records;
            if (!begin_block()) return false;
        }
    }

private:
    bool begin_block() {
        if (block_ == blocks_.size()) {
            bytes_ = {};
            return false;
        }
        const trace_block_place &place = blocks_[block_++];
        bytes_ = file_.read(place);
        rest_ = bytes_;
        time_ = std::max(time_, place.head.time);
        address_ = 0;
        tenant_ = 0;
        owners_.clear();
        thread_ = reader_.thread_of(image_, place.head.thread);
        return true;
    }

    // True: it has become an event.
    bool take(const trace_record &r) {
        time_ = add_saturating(time_, r.numbers[0]);
        trace_image_facts &image = reader_.images_[image_];
        image.last = std::max(image.last, time_);
        if (image.first == 0) image.first = time_;
        if (const event_form *form = form_of(r.kind)) return take_event(r, *form);
        switch (r.kind) {
        case ALLOT_TRACE_THREAD: thread_ = reader_.thread_of(image_, static_cast<std::uint32_t>(r.numbers[1])); break;
        case ALLOT_TRACE_WORKS_FOR: tenant_ = owner(r.numbers[1]); break;
        case ALLOT_TRACE_OWNER: owners_[r.numbers[1]] = reader_.tenant_of(r.text); break;
        case ALLOT_TRACE_LOST:
            reader_.damage_.lost_records = add_saturating(reader_.damage_.lost_records, r.numbers[1]);
            break;
        case ALLOT_TRACE_PROGRAM:
            image.parent = static_cast<std::uint32_t>(r.numbers[1]);
            image.program = r.text;
            break;
        default: ++reader_.damage_.unknown_records;
        }
        return false;
    }

    bool take_event(const trace_record &r, const event_form &form) {
        if (r.nr_numbers < form.nr_numbers) {
            ++reader_.damage_.unknown_records;
            return false;
        }
        event = {};
        event.kind = form.event;
        event.image = image_;
        event.thread = thread_;
        event.time = time_;
        if (form.event == trace_event_kind::refused) {
            event.requested = r.numbers[1];
            event.tenant = tenant_;
            return true;
        }
        const std::uint64_t folded = r.numbers[1];
        address_ += ((folded >> 1) ^ (std::uint64_t{0} - (folded & 1))) * 16;
        event.address = address_;
        if (form.event == trace_event_kind::transfer) {
            event.tenant = owner(r.numbers[2]);
        } else {
            event.requested = r.numbers[2];
            event.usable = add_saturating(r.numbers[2], r.numbers[3]);
            event.tenant = tenant_;
        }
        return true;
    }

    std::uint32_t owner(std::uint64_t number) const {
        const auto found = owners_.find(number);
        return found == owners_.end() ? 0 : found->second;
    }

    trace_reader &reader_;
    const trace_blocks &file_;
    const std::vector<trace_block_place> &blocks_;
    const std::uint32_t image_;
    std::size_t block_ = 0; // the next to be read
    std::string bytes_;
    std::string_view rest_;
    std::uint64_t time_ = 0, address_ = 0;
    std::uint32_t tenant_ = 0, thread_ = 0;
    std::unordered_map<std::uint64_t, std::uint32_t> owners_;
};

trace_reader::trace_reader(const std::vector<std::string> &files) {
    for (const std::string &path : files) add_file(path);
    for (std::uint32_t i = 0; i < cursors_.size(); ++i) (void)advance(i);
}

trace_reader::~trace_reader() = default;

void trace_reader::add_file(const std::string &path) {
    files_.push_back(std::make_unique<trace_blocks>(path));
    const trace_blocks &file = *files_.back();
    damage_.empty_slots += file.nr_empty();
    damage_.damaged_slots += file.nr_damaged();
    damage_.missing_blocks += file.nr_missing();
    damage_.cut_blocks += file.nr_cut();
    damage_.stopped_images += file.header().nr_stopped;
    if (file.header().stop_reason != 0) damage_.stop_reason = file.header().stop_reason;
    for (const auto &[key, blocks] : file.streams()) {
        const std::uint32_t image = image_of(key);
        ++streams_left_[image];
        cursors_.push_back(std::make_unique<cursor>(*this, file, blocks, image));
    }
}

std::uint32_t trace_reader::image_of(const trace_stream_key &key) {
    const auto [pid, started, stream] = key;
    const auto [at, is_new] = image_index_.try_emplace({pid, started}, static_cast<std::uint32_t>(images_.size()));
    if (is_new) {
        images_.emplace_back();
        images_.back().pid = pid;
        images_.back().started = started;
        streams_left_.push_back(0);
        live_.emplace_back();
    }
    return at->second;
}

std::uint32_t trace_reader::thread_of(std::uint32_t image, std::uint32_t id) {
    const auto [at, is_new] = thread_index_.try_emplace({image, id}, static_cast<std::uint32_t>(threads_.size()));
    if (is_new) threads_.push_back({image, id});
    return at->second;
}

std::uint32_t trace_reader::tenant_of(std::string_view path) {
    const auto [at, is_new] = tenant_index_.try_emplace(std::string(path), static_cast<std::uint32_t>(tenants_.size()));
    if (is_new) tenants_.emplace_back(path);
    return at->second;
}

bool trace_reader::is_later(std::uint32_t a, std::uint32_t b) const {
    // At the same time a free comes before an allocation: its address may be the one that is allocated.
    const auto rank = [this](std::uint32_t i) {
        const trace_event &e = cursors_[i]->event;
        return std::make_tuple(e.time, e.kind != trace_event_kind::free, i);
    };
    return rank(a) > rank(b);
}

// Puts a cursor's next event into the heap. False: it has none, and neither has any other of its image.
bool trace_reader::advance(std::uint32_t index) {
    cursor &c = *cursors_[index];
    if (!c.find_next()) return --streams_left_[c.image()] != 0;
    heap_.push_back(index);
    std::push_heap(heap_.begin(), heap_.end(), [this](auto a, auto b) { return is_later(a, b); });
    return true;
}

bool trace_reader::next(trace_event &out) {
    if (ready_.empty()) {
        if (heap_.empty()) return false;
        std::pop_heap(heap_.begin(), heap_.end(), [this](auto a, auto b) { return is_later(a, b); });
        const std::uint32_t index = heap_.back();
        heap_.pop_back();
        trace_event event = cursors_[index]->event;
        match(event);
        ready_.push_back(event);
        if (!advance(index)) {
            live_[event.image].clear();
            trace_event end;
            end.kind = trace_event_kind::image_ends;
            end.image = event.image;
            end.time = event.time;
            ready_.push_back(end);
        }
    }
    out = ready_.front();
    ready_.pop_front();
    return true;
}

// Brings an event and the block that it is about together.
void trace_reader::match(trace_event &e) {
    if (e.kind == trace_event_kind::refused) return;
    live_blocks &live = live_[e.image];
    if (e.kind == trace_event_kind::alloc) return match_alloc(e, live);
    const auto block = live.find(e.address);
    if (block == live.end()) {
        ++damage_.unknown_blocks;
        e.is_known = false;
        e.tenant = e.tenant_before = 0;
        if (e.kind != trace_event_kind::resize) e.requested = e.usable = 0;
        return;
    }
    live_block &b = block->second;
    switch (e.kind) {
    case trace_event_kind::free:
        e.requested = b.requested;
        e.usable = b.usable;
        e.tenant = b.tenant;
        live.erase(block);
        break;
    case trace_event_kind::resize:
        e.usable_before = b.usable;
        e.tenant = b.tenant;
        b.requested = e.requested;
        b.usable = e.usable;
        break;
    case trace_event_kind::transfer:
        e.requested = b.requested;
        e.usable = b.usable;
        e.tenant_before = b.tenant;
        b.tenant = e.tenant;
        break;
    case trace_event_kind::alloc:
    case trace_event_kind::refused:
    case trace_event_kind::image_ends: break;
    }
}

void trace_reader::match_alloc(trace_event &e, live_blocks &live) {
    const live_block now{e.requested, e.usable, e.tenant};
    const auto [block, is_new] = live.try_emplace(e.address, now);
    if (is_new) return;
    ++damage_.implied_frees;
    trace_event free = e;
    free.kind = trace_event_kind::free;
    free.is_implied = true;
    free.requested = block->second.requested;
    free.usable = block->second.usable;
    free.tenant = block->second.tenant;
    ready_.push_back(free);
    block->second = now;
}

} // namespace allot
