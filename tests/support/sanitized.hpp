// Which sanitizer this build has: some cases ask for what the sanitizer itself takes.
#pragma once

#include <boost/test/unit_test.hpp>

namespace allot {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool is_sanitized = true;
#else
inline constexpr bool is_sanitized = false;
#endif

// A precondition of a case that limits its address space, of which sanitizers use terabytes.
inline boost::test_tools::assertion_result address_space_can_be_limited(boost::unit_test::test_unit_id) {
    return !is_sanitized;
}

#if defined(__SANITIZE_THREAD__)
inline constexpr bool is_thread_sanitized = true;
#else
inline constexpr bool is_thread_sanitized = false;
#endif

// A precondition of a case about vfork, of which the thread sanitizer makes a fork.
inline boost::test_tools::assertion_result vfork_shares_memory(boost::unit_test::test_unit_id) {
    return !is_thread_sanitized;
}

// A precondition of a case that waits for two threads to meet in a moment.
inline boost::test_tools::assertion_result is_built_for_speed(boost::unit_test::test_unit_id) { return !is_sanitized; }

} // namespace allot
