// Asking processes for memory: a request to each that works for a tenant or below, the largest first, until it is enough.
//
// Threads: one. Owner: values. Cost: up to a second for each process that does not answer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace allot {

struct reclaim_outcome {
    std::uint64_t asked = 0;             // processes
    std::uint64_t got = 0;               // bytes, at most what was wanted is asked for
    std::vector<std::string> not_served; // "python3 (412): it did not answer within a second"
};

// Of what is attached for real. `patience_ns`: after that, nobody else is asked.
[[nodiscard]] reclaim_outcome reclaim_below(std::uint32_t node, std::uint64_t bytes, std::uint64_t patience_ns);

// Living members that are charged for something at the node or below, the one with most first.
struct charged_member {
    std::uint32_t member;
    std::uint64_t bytes;
};
[[nodiscard]] std::vector<charged_member> members_below(std::uint32_t node);

// "python3 (412)"
[[nodiscard]] std::string name_of_member(std::uint32_t member);

// What a negative errno of a request means, as a phrase.
[[nodiscard]] std::string request_problem(int error);

} // namespace allot
