// ALLOT_ASSERT: a programmer's error, looked for in debug builds. ALLOT_CHECK: a broken heap or counter, always.
#pragma once

namespace allot {

[[noreturn]] void check_failed(const char *what, const char *file, unsigned line);

} // namespace allot

#define ALLOT_CHECK(condition, what)                                                                                   \
    (__builtin_expect(!!(condition), 1) ? void() : ::allot::check_failed(what, __FILE__, __LINE__))

#ifdef NDEBUG
#define ALLOT_ASSERT(condition) void()
#else
#define ALLOT_ASSERT(condition) ALLOT_CHECK(condition, #condition)
#endif
