// Caches that tests register as shrinkers: bytes that are charged as external ones, and given back in objects of one size.
#pragma once

#include "accounting/accounting.hpp"
#include "accounting/shrinkers.hpp"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

class cache {
public:
    cache(allot_tenant *t, std::uint64_t bytes, std::uint64_t object = 4096)
        : tenant_(t), handle_(allot::obj_cgroup_get(t)), object_(object) {
        id_ = allot::shrinker_add(t, count, scan, this);
        BOOST_TEST_REQUIRE(id_ > 0);
        BOOST_TEST_REQUIRE(fill(bytes));
    }
    ~cache() {
        end();
        allot::uncharge_bytes(handle_, bytes_, allot::charge_kind::external);
        allot::obj_cgroup_put(handle_);
    }
    cache(const cache &) = delete;
    cache &operator=(const cache &) = delete;

    bool fill(std::uint64_t bytes) {
        if (!allot::charge_bytes(handle_, bytes, allot::charge_kind::external)) return false;
        bytes_ += bytes;
        return true;
    }
    void end() {
        if (id_ > 0) (void)allot::shrinker_remove(id_);
        id_ = 0;
    }
    std::uint64_t bytes() const { return bytes_; }
    std::uint64_t scans() const { return scans_; }
    std::uint64_t counts() const { return counts_; }
    int id() const { return id_; }
    allot_tenant *tenant() const { return tenant_; }

    // Says that it has something and gives nothing.
    std::atomic<bool> refuses{false};
    // Says that it has given what it has not.
    std::atomic<bool> lies{false};

private:
    static std::size_t count(void *me) {
        auto &self = *static_cast<cache *>(me);
        ++self.counts_;
        return self.bytes_;
    }
    static std::size_t scan(void *me, std::size_t bytes) {
        auto &self = *static_cast<cache *>(me);
        ++self.scans_;
        if (self.refuses) return 0;
        if (self.lies) return bytes;
        std::uint64_t wanted = (bytes + self.object_ - 1) / self.object_ * self.object_;
        std::uint64_t has = self.bytes_;
        std::uint64_t given;
        do given = wanted < has ? wanted : has;
        while (!self.bytes_.compare_exchange_weak(has, has - given));
        allot::uncharge_bytes(self.handle_, given, allot::charge_kind::external);
        return given;
    }

    allot_tenant *tenant_;
    std::uint32_t handle_;
    std::uint64_t object_;
    int id_;
    std::atomic<std::uint64_t> bytes_{0}, scans_{0}, counts_{0};
};
