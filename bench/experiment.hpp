// The frame of the seeds' experiments: options by name, and the result as a line for people or one of JSON.
//
// It exists beside harness.hpp because an experiment is about counts and threads of its own, and because its driver reads
// every parameter back: each option is declared once, and is parsed, checked and printed from there.
//
// Threads: the main thread. Owner: nobody; the options point into the caller's settings, which outlive them.
// Invariants: with --json the last line of standard output is one object, complete, on one line.
// Cost: none while anything is measured.
#pragma once

#include "accounting/linux/tally.hpp"
#include "bench/harness.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace allot::bench {

class options {
public:
    // name is `--pairs`; in JSON it is `pairs`, and `-` within it is `_`.
    void number(const char *name, std::uint64_t &, std::uint64_t least = 1);
    void real(const char *name, double &, double least, double most);
    void word(const char *name, std::string &, std::vector<std::string> allowed = {});
    void flag(const char *name, bool &); // alone, without a value

    // Exit 2 with a line on stderr where something is wrong.
    void parse(int argc, char **argv) const;
    // `"pairs":4,"variant":"linux_6_1"`: what was measured; for how long and how it is told apart.
    [[nodiscard]] std::string json() const;

private:
    struct option {
        std::string name;
        std::variant<std::uint64_t *, double *, std::string *, bool *> target;
        double least, most;
        std::vector<std::string> allowed;
    };
    void set(const option &, const std::string &value) const;
    [[nodiscard]] std::string names() const;

    std::vector<option> all_;
};

// What an experiment counted, by name, in order.
using counts = std::vector<std::pair<std::string, std::uint64_t>>;
[[nodiscard]] counts counts_of(const memcg::tally &);                      // its fields, and `shared`
[[nodiscard]] std::uint64_t count_named(const counts &, const char *name); // 0: not counted

struct outcome {
    double seconds = 0;     // from the first operation to the last, by the clock on the wall
    double cpu_seconds = 0; // of the process, meanwhile
    std::uint64_t operations = 0;
    counts counted;
};

// {"bench":…,options…,"seconds":…,"cpu_seconds":…,"operations":…,"operations_per_second":…,"counts":{…}}
[[nodiscard]] std::string json_of(const char *bench, const options &, const outcome &);

// The clocks of an outcome.
class stopwatch {
public:
    stopwatch();
    void read(outcome &) const;

private:
    double wall_, cpu_;
};

} // namespace allot::bench
