#include "alloc/remote_free.hpp"

#include "alloc/adopt.hpp"

namespace allot {

namespace {

void *&next_of(void *slot) { return static_cast<void **>(slot)[1]; }

void push_chain(home *to, void *head, void *tail) {
    void *seen = to->inbox.load(std::memory_order_relaxed);
    do next_of(tail) = seen;
    while (!to->inbox.compare_exchange_weak(seen, head, std::memory_order_seq_cst, std::memory_order_relaxed));
}

} // namespace

void remote_free(home *from, slab *s, void *slot) {
    home *to = __atomic_load_n(&s->at_home, __ATOMIC_ACQUIRE);
    mark_free(slot, s);
    free_chain &chain = from->outgoing;
    if (chain.to != to && chain.to != nullptr) remote_flush(from);
    next_of(slot) = chain.head;
    chain.head = slot;
    if (chain.to == nullptr) {
        chain.to = to;
        chain.tail = slot;
    }
    if (++chain.length >= chain_max) remote_flush(from);
}

void remote_flush(home *from) {
    free_chain chain = from->outgoing;
    if (chain.to == nullptr) return;
    from->outgoing = {};
    push_chain(chain.to, chain.head, chain.tail);
    // seq_cst: after the push, so that the push is seen by home_leave or its orphan here.
    if (chain.to->state.load(std::memory_order_seq_cst) == home_state::orphaned) adopt_collect_for(chain.to);
}

bool remote_collect(home *h) {
    if (h->inbox.load(std::memory_order_seq_cst) == nullptr) return false;
    void *slot = h->inbox.exchange(nullptr, std::memory_order_acquire);
    while (slot != nullptr) {
        void *next = next_of(slot);
        slab *s = slab_of(slot);
        home *at = __atomic_load_n(&s->at_home, __ATOMIC_ACQUIRE);
        if (at == h)
            slot_return(h, s, slot);
        else
            push_chain(at, slot, slot);
        slot = next;
    }
    return true;
}

void remote_for_each_pending(void (*visit)(void *slot, void *state), void *state) {
    for (home *h = homes_first(); h != nullptr; h = h->next_home) {
        for (void *slot = h->inbox.load(std::memory_order_acquire); slot != nullptr; slot = next_of(slot))
            visit(slot, state);
        void *slot = h->outgoing.head;
        for (std::uint32_t i = 0; i < h->outgoing.length; ++i, slot = next_of(slot)) visit(slot, state);
    }
}

} // namespace allot
