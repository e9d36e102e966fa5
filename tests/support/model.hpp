// The rules of accounting as slow, single-threaded, obviously right code: what lives, under whom, and what fits.
//
// A charge fits if, at its tenant and every ancestor, what lives plus what is asked for is at most max. That is all: the
// real thing, with its stocks, batches and drains, must answer the same and show the same figures.
#pragma once

#include "accounting/base/units.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace model {

enum class kind { slab, large, external };

struct tenant {
    tenant *parent = nullptr;
    std::string path;
    std::uint64_t max = allot::unlimited;
    std::uint64_t own[3] = {}; // live bytes by kind, without descendants
    std::uint64_t own_objects = 0;
    std::uint64_t oom_local = 0;
    std::uint64_t oom_of_destroyed = 0; // of descendants that are gone: hierarchical events stay
    std::uint64_t peak = 0;             // of what lives; the real peak includes stocks
    std::vector<tenant *> children;

    std::uint64_t sum(kind k) const {
        std::uint64_t all = own[static_cast<int>(k)];
        for (const tenant *child : children) all += child->sum(k);
        return all;
    }
    std::uint64_t live() const { return sum(kind::slab) + sum(kind::large) + sum(kind::external); }
    std::uint64_t objects() const {
        std::uint64_t all = own_objects;
        for (const tenant *child : children) all += child->objects();
        return all;
    }
    std::uint64_t oom() const {
        std::uint64_t all = oom_local + oom_of_destroyed;
        for (const tenant *child : children) all += child->oom();
        return all;
    }
    std::uint64_t descendants() const {
        std::uint64_t all = children.size();
        for (const tenant *child : children) all += child->descendants();
        return all;
    }
};

// The lowest level without room, from `from` up to but without `stop`; nullptr: it fits.
inline tenant *refusing(tenant *from, std::uint64_t bytes, const tenant *stop = nullptr) {
    for (tenant *t = from; t != nullptr && t != stop; t = t->parent)
        if (t->live() + bytes > t->max) return t;
    return nullptr;
}

inline void charged(tenant *t, kind k, std::uint64_t bytes) {
    t->own[static_cast<int>(k)] += bytes;
    if (k == kind::slab) t->own_objects++;
    for (tenant *at = t; at != nullptr; at = at->parent)
        if (at->live() > at->peak) at->peak = at->live();
}
inline void uncharged(tenant *t, kind k, std::uint64_t bytes) {
    t->own[static_cast<int>(k)] -= bytes;
    if (k == kind::slab) t->own_objects--;
}

inline bool try_charge(tenant *t, kind k, std::uint64_t bytes) {
    if (tenant *level = refusing(t, bytes)) {
        level->oom_local++;
        return false;
    }
    charged(t, k, bytes);
    return true;
}

inline const tenant *common_ancestor(const tenant *a, const tenant *b) {
    for (const tenant *x = a; x != nullptr; x = x->parent)
        for (const tenant *y = b; y != nullptr; y = y->parent)
            if (x == y) return x;
    return nullptr;
}

inline bool transfer(tenant *from, tenant *to, kind k, std::uint64_t bytes) {
    if (from == to) return true;
    if (tenant *level = refusing(to, bytes, common_ancestor(from, to))) {
        level->oom_local++;
        return false;
    }
    uncharged(from, k, bytes);
    charged(to, k, bytes);
    return true;
}

// What t has becomes its parent's.
inline void destroy(tenant *t) {
    tenant *parent = t->parent;
    for (int k = 0; k < 3; ++k) parent->own[k] += t->own[k];
    parent->own_objects += t->own_objects;
    parent->oom_of_destroyed += t->oom();
    std::erase(parent->children, t);
}

} // namespace model
