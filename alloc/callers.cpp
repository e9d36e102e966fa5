#include "alloc/callers.hpp"

#include "alloc/active.hpp"
#include "alloc/active_scope.hpp"
#include "alloc/alloc.hpp"
#include "alloc/trace.hpp"

#include <cstring>

namespace allot {

constinit const caller_rules *callers_told_apart = nullptr;

namespace {

constexpr unsigned address_bits = 48;
constexpr std::uint32_t most_rules = (1u << (64 - address_bits)) - 1;

// Counts what the loader does. Written by threads within its calls, relaxed: whoever runs code of a library that came later
// has been told so by the program, and with that of the count.
constinit std::atomic<std::uint32_t> libraries{1};

// A word an answer, and what is wrong with the others is settled before the number says that they are right: a handler may come
// between any two of these.
std::uint64_t &answer_for(caller_answers &a, std::uint64_t address) {
    std::uint32_t now = libraries.load(std::memory_order_relaxed);
    if (a.of_libraries != now) [[unlikely]] {
        for (std::uint64_t &answer : a.answers) write_shared(answer, std::uint64_t{0});
        std::atomic_signal_fence(std::memory_order_seq_cst);
        a.of_libraries = now;
    }
    return a.answers[(address ^ address >> 6) % caller_answers::nr_answers];
}

std::uint32_t rule_of(home *h, const void *caller) {
    auto address = reinterpret_cast<std::uint64_t>(caller);
    caller_answers *a = address >> address_bits == 0 ? h->answers : nullptr;
    if (a == nullptr) [[unlikely]] {
        std::uint32_t rule = callers_told_apart->rule_of(caller);
        return rule == asked_by_loader ? 0 : rule;
    }
    std::uint64_t &seen = answer_for(*a, address);
    std::uint64_t word = read_shared(seen);
    if ((word << (64 - address_bits)) >> (64 - address_bits) == address && address != 0) [[likely]]
        return static_cast<std::uint32_t>(word >> address_bits);
    std::uint32_t rule = callers_told_apart->rule_of(caller);
    if (rule == asked_by_loader) {
        libraries.fetch_add(1, std::memory_order_relaxed);
        return 0;
    }
    if (rule > most_rules) return 0;
    write_shared(seen, address | std::uint64_t{rule} << address_bits);
    return rule;
}

} // namespace

void heap_set_callers(const caller_rules *rules) {
    __atomic_store_n(&callers_told_apart, rules, __ATOMIC_RELEASE);
    heap_show_again();
}

namespace {

allot_tenant *tenant_in(home *h, const void *caller) {
    if (h == nullptr || h->busy || thread_here.unaccounted != 0) return nullptr;
    std::uint32_t rule = rule_of(h, caller);
    return rule == 0 ? nullptr : callers_told_apart->tenants[rule - 1];
}

// After its farewell a thread leaves its home with each visit, so a visit there must be.
void *from_choice(home *h, allot_tenant *tenant, std::size_t size) {
    if (h == nullptr || h->busy || thread_here.farewells != 0 || trace_is_on()) return nullptr;
    return tenant != nullptr ? malloc_in_passing(h, tenant, size) : malloc_from_choice(h->current, size);
}

} // namespace

allot_tenant *tenant_of_caller(const void *caller) { return tenant_in(home_here(), caller); }

void caller_scope::begin(allot_tenant *tenant) {
    if (tenant == nullptr) return;
    is_on_ = true;
    heap_moves_wait_begin();
    before_ = heap_set_active(tenant);
}

void caller_scope::end() {
    heap_set_active(before_);
    heap_moves_wait_end();
}

void *malloc_for_caller(std::size_t size, const void *caller) {
    if (!callers_matter()) [[likely]]
        return malloc_slow(size);
    home *h = home_here();
    allot_tenant *tenant = tenant_in(h, caller);
    if (void *p = from_choice(h, tenant, size); p != nullptr) return p;
    if (tenant == nullptr) return malloc_slow(size);
    active_scope in(tenant);
    return malloc_slow(size);
}

void *calloc_for_caller(std::size_t count, std::size_t size, const void *caller) {
    std::size_t bytes;
    if (!callers_matter() || __builtin_mul_overflow(count, size, &bytes)) [[likely]]
        return heap_calloc_slow(count, size);
    home *h = home_here();
    allot_tenant *tenant = tenant_in(h, caller);
    if (void *p = from_choice(h, tenant, bytes); p != nullptr) return std::memset(p, 0, bytes);
    if (tenant == nullptr) return heap_calloc_slow(count, size);
    active_scope in(tenant);
    return heap_calloc_slow(count, size);
}

void *realloc_for_caller(void *p, std::size_t size, const void *caller) {
    caller_scope in(caller);
    return heap_realloc_slow(p, size);
}

void *move_for_caller(void *p, std::size_t was, std::size_t size, const void *caller) {
    caller_scope in(caller);
    return heap_move_slot(p, was, size);
}

void *aligned_alloc_for_caller(std::size_t alignment, std::size_t size, const void *caller) {
    if (callers_matter()) [[unlikely]] {
        caller_scope in(caller);
        return heap_aligned_alloc(alignment, size);
    }
    return heap_aligned_alloc(alignment, size);
}

} // namespace allot
