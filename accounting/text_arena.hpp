// Memory for texts that live as long as the process: a bump allocator over pages of the kernel's own.
//
// It exists because options are copied before malloc may be used, and nothing of them is ever given back.
//
// Threads: one at a time. Owner: nobody frees; the object may be dropped, its memory stays.
// Invariants: 1. What is returned is zeroed and aligned to 8.
// Cost: one mmap for each 16 KiB. Not for anything that grows while the program runs.
#pragma once

#include "accounting/base/os.hpp"

#include <cstddef>
#include <cstdint>

namespace allot {

class text_arena {
public:
    // nullptr when the kernel refuses.
    void *allocate(std::size_t bytes) {
        bytes = (bytes + 7) & ~std::size_t{7};
        if (bytes > left_ && !map_more(bytes)) return nullptr;
        void *result = next_;
        next_ += bytes;
        left_ -= bytes;
        return result;
    }

    // A terminated copy, or nullptr.
    char *copy(const char *text, std::size_t length) {
        auto *out = static_cast<char *>(allocate(length + 1));
        for (std::size_t i = 0; out != nullptr && i < length; ++i) out[i] = text[i];
        return out;
    }

private:
    static constexpr std::size_t chunk_bytes = std::size_t{16} << 10;

    bool map_more(std::size_t at_least) {
        const std::size_t size = (at_least + chunk_bytes - 1) / chunk_bytes * chunk_bytes;
        const std::uintptr_t address = os_map(size);
        if (address == 0) return false;
        next_ = reinterpret_cast<char *>(address);
        left_ = size;
        return true;
    }

    char *next_ = nullptr;
    std::size_t left_ = 0;
};

} // namespace allot
