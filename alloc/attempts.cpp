#include "alloc/attempts.hpp"

namespace allot {

void aftermath::note_slow(home *h, bool is_done) {
    is_done_ = is_done;
    owner_ = h->current->owner;
    hooks::owner_grab(owner_); // user code may lead to the end of its heap
    if (!is_done) hooks::take_refusal(h->current->account, left_);
}

bool aftermath::settle() {
    int error = errno;
    bool again = false;
    if (is_done_)
        hooks::settle_charge(owner_);
    else
        again = hooks::settle(left_);
    hooks::owner_put(owner_);
    errno = error;
    return again;
}

} // namespace allot
