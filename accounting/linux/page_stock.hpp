// What one CPU keeps of pages that have been charged and that nobody uses yet, for one owner or a few.
//
// It exists because it is what makes the kernel's walks to the root rare, and what its batch size is about.
//
// Threads: of its CPU; `holds_any` is asked by others, for whom the slots are atomic.
// Owner: the engine's CPU. Invariants: a slot rests with at most `most` pages; one without an owner has none.
// Cost: no shared line but where an owner is charged or uncharged.
#pragma once

#include <atomic>
#include <cstdint>

namespace allot::memcg {

// Group: what is charged; uncharge(group, pages) is what a drain does with it.
template<typename Group, std::uint32_t NrSlots>
class page_stock {
public:
    explicit page_stock(std::uint32_t most) : most_(most) {}

    // True: taken from what was charged ahead.
    bool consume(Group *group, std::int64_t pages) {
        if (pages > most_) return false;
        slot *s = slot_of(group);
        if (s == nullptr || load(s->pages) < pages) return false;
        store(s->pages, load(s->pages) - pages);
        return true;
    }

    // Keeps charged pages, for the next time. More than a batch: all of it goes. drains counts.
    template<typename Uncharge>
    void refill(Group *group, std::int64_t pages, std::uint64_t &drains, Uncharge uncharge) {
        if (NrSlots > 1 && pages > most_) return uncharge(group, pages);
        slot *s = slot_of(group);
        if (s == nullptr) {
            s = slot_to_take();
            if (load(s->group) != nullptr) drain(*s, drains, uncharge);
            store(s->group, group);
        }
        store(s->pages, load(s->pages) + pages);
        if (load(s->pages) > most_) drain(*s, drains, uncharge);
    }

    template<typename Uncharge>
    void drain_all(std::uint64_t &drains, Uncharge uncharge) {
        for (slot &s : slots_)
            if (load(s.group) != nullptr) drain(s, drains, uncharge);
    }

    // By another CPU: what it sees may be old.
    template<typename IsBelow>
    [[nodiscard]] bool holds_any(IsBelow is_below) const {
        for (const slot &s : slots_) {
            Group *group = load(s.group);
            if (group != nullptr && load(s.pages) > 0 && is_below(group)) return true;
        }
        return false;
    }
    [[nodiscard]] std::int64_t held_for(const Group *group) const {
        std::int64_t sum = 0;
        for (const slot &s : slots_)
            if (load(s.group) == group) sum += load(s.pages);
        return sum;
    }

private:
    // Written by the owner CPU, read by others' drains; relaxed: a hint to them.
    struct slot {
        std::atomic<Group *> group{nullptr};
        std::atomic<std::int64_t> pages{0};
    };
    template<typename T>
    static T load(const std::atomic<T> &a) {
        return a.load(std::memory_order_relaxed);
    }
    template<typename T>
    static void store(std::atomic<T> &a, T value) {
        a.store(value, std::memory_order_relaxed);
    }

    slot *slot_of(const Group *group) {
        for (slot &s : slots_)
            if (load(s.group) == group) return &s;
        return nullptr;
    }
    slot *slot_to_take() {
        if (slot *empty = slot_of(nullptr); empty != nullptr) return empty;
        victim_ = (victim_ + 1) % NrSlots;
        return &slots_[victim_];
    }
    template<typename Uncharge>
    void drain(slot &s, std::uint64_t &drains, Uncharge uncharge) {
        std::int64_t pages = load(s.pages);
        Group *group = load(s.group);
        store(s.pages, std::int64_t{0});
        store(s.group, static_cast<Group *>(nullptr));
        if (pages == 0) return;
        ++drains;
        uncharge(group, pages);
    }

    const std::int64_t most_;
    std::uint32_t victim_ = 0;
    slot slots_[NrSlots];
};

} // namespace allot::memcg
