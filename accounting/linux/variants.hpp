// The variants as types: what engine.hpp is instantiated with, and what tests and benchmarks choose an engine by.
//
// Threads: types. Owner: none. Invariants: a name is that of variants.def, with _v1 behind it for v1's hierarchy.
// Cost: a whole engine is compiled for each, in engines_v1.cpp and engines_v2.cpp.
#pragma once

#include "accounting/linux/engine_config.hpp"

namespace allot::memcg {

#define ALLOT_VARIANT(id, configuration, text)                                                                         \
    struct id {                                                                                                        \
        static constexpr engine_config config = configuration;                                                         \
        static constexpr char name[] = #id;                                                                            \
        static constexpr char help[] = text;                                                                           \
    };                                                                                                                 \
    struct id##_v1 {                                                                                                   \
        static constexpr engine_config config = with(id::config, hierarchy::v1);                                       \
        static constexpr char name[] = #id "_v1";                                                                      \
        static constexpr char help[] = text ", v1";                                                                    \
    };
#include "accounting/linux/variants.def"
#undef ALLOT_VARIANT

} // namespace allot::memcg
