// The engines of all variants, compiled once: to be had by type or by name.
//
// They exist apart from engine.hpp because that is a template of some hundred lines: who includes this compiles none of it.
//
// Threads: any. Owner: the caller, of the engine it gets. Invariants: the order is that of variants.def, each before its _v1.
// Cost: an engine's size is some hundred bytes a CPU, a line a CPU and node for each group, and one for each owner.
#pragma once

#include "accounting/linux/any_engine.hpp"
#include "accounting/linux/variants.hpp"

#include <memory>
#include <span>
#include <string_view>

namespace allot::memcg {

template<typename Variant>
[[nodiscard]] std::unique_ptr<any_engine> make_engine(engine_size size);

struct variant_entry {
    const char *name, *help;
    std::unique_ptr<any_engine> (*make)(engine_size);
};
[[nodiscard]] std::span<const variant_entry> all_engines();
[[nodiscard]] const variant_entry *engine_named(std::string_view name); // nullptr: there is none

} // namespace allot::memcg
