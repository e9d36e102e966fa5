#include "accounting/linux/engines.hpp"

namespace allot::memcg {

namespace {

constexpr variant_entry entries[] = {
#define ALLOT_VARIANT(id, configuration, text)                                                                         \
    {id::name, id::help, make_engine<id>}, {id##_v1::name, id##_v1::help, make_engine<id##_v1>},
#include "accounting/linux/variants.def"
#undef ALLOT_VARIANT
};

} // namespace

std::span<const variant_entry> all_engines() { return entries; }

const variant_entry *engine_named(std::string_view name) {
    for (const variant_entry &entry : entries)
        if (name == entry.name) return &entry;
    return nullptr;
}

} // namespace allot::memcg
