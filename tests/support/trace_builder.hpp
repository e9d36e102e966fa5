// Trace files put together record by record, right or wrong, for tests of who reads them.
#pragma once

#include <allot/trace.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <string>

class trace_block_builder {
public:
    allot_trace_block head{};

    explicit trace_block_builder(std::uint32_t pid = 1, std::uint32_t stream = 1, std::uint32_t sequence = 0,
                                 std::uint64_t time = 1000) {
        head.magic = ALLOT_TRACE_BLOCK_MAGIC;
        head.nr_slots = 1;
        head.pid = pid;
        head.thread = pid;
        head.image_started = 500;
        head.stream = stream;
        head.sequence = sequence;
        head.time = time;
    }

    trace_block_builder &raw(const std::string &bytes) {
        records_ += bytes;
        return *this;
    }
    // The first number is the time since the record before.
    trace_block_builder &record(unsigned kind, std::initializer_list<std::uint64_t> numbers,
                                const std::string &text = "") {
        bool has_text = kind >= ALLOT_TRACE_FIRST_KIND_WITH_TEXT;
        records_ += static_cast<char>(kind | (numbers.size() + has_text) << 5);
        for (std::uint64_t n : numbers) number(n);
        if (has_text) number(text.size());
        records_ += text;
        return *this;
    }
    trace_block_builder &program(const std::string &name) { return record(ALLOT_TRACE_PROGRAM, {0, 7}, name); }
    trace_block_builder &works_for(std::uint64_t owner, const std::string &path) {
        return record(ALLOT_TRACE_OWNER, {0, owner}, path).record(ALLOT_TRACE_WORKS_FOR, {0, owner});
    }
    trace_block_builder &alloc(std::uint64_t after, std::uint64_t address, std::uint64_t requested,
                               std::uint64_t slack) {
        return record(ALLOT_TRACE_ALLOC, {after, difference_to(address), requested, slack});
    }
    trace_block_builder &free(std::uint64_t after, std::uint64_t address) {
        return record(ALLOT_TRACE_FREE, {after, difference_to(address)});
    }
    trace_block_builder &resize(std::uint64_t after, std::uint64_t address, std::uint64_t requested,
                                std::uint64_t slack) {
        return record(ALLOT_TRACE_RESIZE, {after, difference_to(address), requested, slack});
    }
    trace_block_builder &transfer(std::uint64_t after, std::uint64_t address, std::uint64_t owner,
                                  const std::string &path) {
        record(ALLOT_TRACE_OWNER, {after, owner}, path);
        return record(ALLOT_TRACE_TRANSFER, {0, difference_to(address), owner});
    }

    [[nodiscard]] std::string bytes(std::uint32_t slot_bytes) const {
        std::string block(std::size_t{head.nr_slots} * slot_bytes, '\0');
        std::memcpy(block.data(), &head, sizeof head);
        std::memcpy(block.data() + sizeof head, records_.data(), records_.size());
        return block;
    }

private:
    void number(std::uint64_t n) {
        for (; n >= 0x80; n >>= 7) records_ += static_cast<char>(n | 0x80);
        records_ += static_cast<char>(n);
    }
    std::uint64_t difference_to(std::uint64_t address) {
        auto difference = static_cast<std::int64_t>(address - address_) / 16;
        address_ = address;
        return static_cast<std::uint64_t>(difference) << 1 ^ static_cast<std::uint64_t>(difference >> 63);
    }

    std::string records_;
    std::uint64_t address_ = 0;
};

struct trace_builder {
    allot_trace_header header{};
    std::string blocks;

    trace_builder() {
        header.magic = ALLOT_TRACE_MAGIC;
        header.major = ALLOT_TRACE_MAJOR;
        header.minor = ALLOT_TRACE_MINOR;
        header.slot_bytes = ALLOT_TRACE_SLOT_BYTES_LEAST;
        header.page_bytes = 4096;
        header.clock = ALLOT_TRACE_CLOCK_MONOTONIC;
        header.next_slot = 1;
    }
    trace_builder &add(const trace_block_builder &block) {
        blocks += block.bytes(header.slot_bytes);
        return *this;
    }
    trace_builder &add_empty_slot() {
        blocks += std::string(header.slot_bytes, '\0');
        return *this;
    }
    [[nodiscard]] std::string bytes() const {
        std::string all(header.slot_bytes, '\0');
        std::memcpy(all.data(), &header, sizeof header);
        return all + blocks;
    }
    void write(const std::string &path) const { write_bytes(path, bytes()); }

    static void write_bytes(const std::string &path, const std::string &bytes) {
        std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    }
};
