#include "preload/mapping_bill.hpp"

#include "accounting/settle.hpp"

#include <cerrno>

namespace allot {

bool mapping_bill::charge(std::uint64_t bytes) {
    is_refused_ = owner != 0 && bytes != 0 && !charge_bytes(owner, bytes, charge_kind::external, left_);
    return !is_refused_;
}

bool mapping_bill::settle() {
    if (owner == 0 || (!is_refused_ && !settle_is_due())) [[likely]]
        return false;
    int error = errno;
    bool again = false;
    if (is_refused_)
        again = settle_refusal(left_);
    else
        settle_charge(owner);
    errno = error;
    if (again) owner.forget(); // the thread's tenant may be another one by now
    is_refused_ = false;
    return again;
}

} // namespace allot
