#include "accounting/thread_files.hpp"

#include "accounting/allocator_source.hpp"
#include "accounting/base/os.hpp"
#include "accounting/memory_files.hpp"
#include "accounting/tenant.hpp"

#include <cerrno>

namespace allot {

namespace {

bool lives(const allot_tenant *handle) {
    signals_blocked quiet;
    lock_scope registry(region().registry_lock.word, lock_rank::registry);
    return tenant_from(handle) != nullptr;
}

struct listing {
    allot_tenant *of;
    file_text *out;
};

} // namespace

int list_threads(allot_tenant *of, file_text &out) {
    if (!lives(of)) return -ESTALE;
    const allocator_source *allocator = allocator_if_any();
    if (allocator == nullptr) return 0;
    listing wanted{of, &out};
    allocator->threads(
        [](void *state, std::uint32_t thread_id, allot_tenant *works_for) {
            auto &to = *static_cast<listing *>(state);
            if (works_for == to.of) to.out->number(thread_id).text("\n");
        },
        &wanted);
    return 0;
}

int move_thread(allot_tenant *to, const char *value) {
    std::uint64_t thread_id = 0;
    const char *end = nullptr;
    if (!parse_number(after_blanks(value), thread_id, end) || !is_word(end, "") || thread_id > 0x7fffffff)
        return -EINVAL;
    if (!lives(to)) return -ESTALE;
    const allocator_source *allocator = allocator_if_any();
    return allocator == nullptr ? -ESRCH : allocator->move_thread(static_cast<std::uint32_t>(thread_id), to);
}

} // namespace allot
