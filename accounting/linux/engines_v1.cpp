#include "accounting/linux/engine.hpp"
#include "accounting/linux/engines.hpp"

namespace allot::memcg {

template<typename Variant>
std::unique_ptr<any_engine> make_engine(engine_size size) {
    return std::make_unique<engine<Variant>>(size);
}

#define ALLOT_VARIANT(id, configuration, text) template std::unique_ptr<any_engine> make_engine<id##_v1>(engine_size);
#include "accounting/linux/variants.def"
#undef ALLOT_VARIANT

} // namespace allot::memcg
