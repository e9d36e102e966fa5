// The variants as types: what engine.hpp, the tests and the benchmarks are instantiated with.
//
// Threads: types. Owner: none. Invariants: a name is that of variants.def, with _v1 behind it for v1's hierarchy.
// Cost: a whole engine is compiled for each type that is used.
#pragma once

#include "accounting/linux/engine_config.hpp"

#include <tuple>

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

namespace detail {
struct end_of_list {};
template<typename... T>
auto drop_last(std::tuple<end_of_list, T...>) -> std::tuple<T...>;
} // namespace detail

// All of them, for loops over types.
using all_variants = decltype(detail::drop_last(std::tuple<detail::end_of_list
#define ALLOT_VARIANT(id, configuration, text) , id, id##_v1
#include "accounting/linux/variants.def"
#undef ALLOT_VARIANT
                                                           >{}));

} // namespace allot::memcg
