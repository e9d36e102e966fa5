#include "accounting/pressure_files.hpp"

#include "accounting/base/os.hpp"
#include "accounting/memory_files.hpp"
#include "accounting/reclaim.hpp"
#include "accounting/tenant_extra.hpp"
#include "accounting/throttle.hpp"

#include <cerrno>

namespace allot {

void get_pressure(const tenant &t, file_text &out) {
    pressure none{};
    tenant_extra *extra = extra_if_any(t);
    pressure &stalls = extra == nullptr ? none : extra->stalls;
    pressure_bring_up_to(stalls, os_nanoseconds() / 1000);
    pressure_write(stalls, out);
}

namespace {
// By throttle_setting.
constexpr const char *throttle_words[] = {"inherit", "0", "1"};
} // namespace

void get_throttle(const tenant &t, file_text &out) {
    out.text(throttle_words[figures_of(t).throttle.load(std::memory_order_relaxed)]).text("\n");
}

int set_throttle(tenant &t, const char *value) {
    for (std::uint8_t w = 0; w < sizeof throttle_words / sizeof *throttle_words; ++w) {
        if (!is_word(value, throttle_words[w])) continue;
        figures_of(t).throttle.store(w, std::memory_order_relaxed);
        return 0;
    }
    return -EINVAL;
}

int reclaim_to_set_limits(allot_tenant *of, const char *) {
    reclaim_to_limits(of);
    return 0;
}

} // namespace allot
