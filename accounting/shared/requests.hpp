// Requests: what only a process itself can do (ask its shrinkers, recount its slabs, end its tenant), asked for by another.
//
// A request is a word in the member's record. The process serves it when it next goes to the tree, which
// whoever asks sees to; whoever asked waits for a second.
//
// Threads: post() from any process, one request of a member at a time; serve() by a thread that holds nothing and may run
//   user code (settle.hpp).
// Owner: who posted it, until it is answered or given up.
// Cost: a load of one word in a slow path.
#pragma once

#include "accounting/shared/layout.hpp"

#include <cstdint>

namespace allot::shared {

enum class request_kind : std::uint32_t { none, reclaim, verify };

// bytes and answer by kind: reclaim: how many to free; how many were. verify: 0; how many differences.
// 0; -EAGAIN: not served within a second; -EBUSY: another request is waiting; -ESRCH: the process is gone.
[[nodiscard]] int request_post(std::uint32_t member, request_kind, std::uint32_t node, std::uint64_t bytes,
                               std::uint64_t &answer);

// Of this process.
[[nodiscard]] bool request_is_waiting();
// Serves it: `what` does it and gives the answer.
void request_serve(std::uint64_t (*what)(request_kind, std::uint32_t node, std::uint64_t bytes));

} // namespace allot::shared
