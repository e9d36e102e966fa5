// The bill of one call of mmap or its kin: who is charged how much, and what a refusal leads to.
//
// It exists so that a refusal is settled (shrinkers, events, the tenant's policy; accounting/settle.hpp) where user code may
// run: after the call has put its books back and opened signals again. If room was made, the call is made once more.
//
// Threads: one. Owner: the caller's stack.
// Invariants: nothing of the books is taken and no lock is held when settle() is called.
#pragma once

#include "accounting/refusal.hpp"
#include "preload/mapping_owner.hpp"

#include <cstdint>

namespace allot {

class mapping_bill {
public:
    mapping_payer owner;

    // Of `owner`, which has been asked for where there is something to pay.
    [[nodiscard]] bool charge(std::uint64_t bytes);
    // True: make the call again, from the beginning.
    [[nodiscard]] bool settle();

private:
    refusal left_;
    bool is_refused_ = false;
};

// call(mapping_bill &) gives the result of the call, errno included.
template<typename Call>
auto settled_call(Call call) {
    for (mapping_bill bill;;) {
        auto result = call(bill);
        if (!bill.settle()) [[likely]]
            return result;
    }
}

} // namespace allot
