// What a trace file says, record by record, for tests of who writes it: read by the format (<allot/trace.h>) alone, not by the
// command's reader, and anything that is not as it should be fails the case.
#pragma once

#include <allot/trace.h>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

struct trace_text_record {
    std::uint32_t pid, stream, sequence, thread;
    std::uint64_t image_started;
    unsigned kind;
    std::uint64_t time, address;        // address: of the kinds that have one
    std::vector<std::uint64_t> numbers; // without the time
    std::string text;
};

struct trace_contents {
    allot_trace_header header{};
    std::vector<trace_text_record> records; // stream by stream, each in order

    std::vector<trace_text_record> of(unsigned kind) const {
        std::vector<trace_text_record> some;
        std::copy_if(records.begin(), records.end(), std::back_inserter(some),
                     [kind](const auto &r) { return r.kind == kind; });
        return some;
    }
    // In the order of time, frees before allocations where that is the same.
    std::vector<trace_text_record> in_time() const {
        std::vector<trace_text_record> all = records;
        std::stable_sort(all.begin(), all.end(), [](const auto &a, const auto &b) {
            return std::make_pair(a.time, a.kind != ALLOT_TRACE_FREE) <
                   std::make_pair(b.time, b.kind != ALLOT_TRACE_FREE);
        });
        return all;
    }
};

// A block's records, behind its head.
inline void read_trace_block(const std::string &file, std::size_t at, std::size_t end, const allot_trace_block &head,
                             std::vector<trace_text_record> &out) {
    std::uint64_t time = head.time, address = 0;
    std::uint32_t thread = head.thread;
    const auto number = [&] {
        std::uint64_t value = 0;
        for (unsigned shift = 0;; shift += 7) {
            if (at >= end) BOOST_FAIL("a number goes beyond its block");
            auto byte = static_cast<unsigned char>(file[at++]);
            value |= std::uint64_t{byte & 0x7fu} << shift;
            if (byte < 0x80) return value;
        }
    };
    while (at < end && file[at] != 0) {
        auto first = static_cast<unsigned char>(file[at++]);
        trace_text_record r{head.pid, head.stream, head.sequence, 0, head.image_started, first & 31u, 0, 0, {}, {}};
        time += number();
        for (unsigned i = 1; i < first >> 5; ++i) r.numbers.push_back(number());
        if (r.kind >= ALLOT_TRACE_FIRST_KIND_WITH_TEXT) {
            r.text = file.substr(at, r.numbers.back());
            at += r.numbers.back();
            if (at > end) BOOST_FAIL("a text goes beyond its block");
        }
        if (r.kind == ALLOT_TRACE_THREAD) thread = static_cast<std::uint32_t>(r.numbers[0]);
        if (r.kind >= ALLOT_TRACE_ALLOC && r.kind <= ALLOT_TRACE_TRANSFER) {
            std::uint64_t folded = r.numbers[0];
            address += static_cast<std::uint64_t>(static_cast<std::int64_t>(folded >> 1) ^
                                                  -static_cast<std::int64_t>(folded & 1)) *
                       16;
            r.address = address;
        }
        r.time = time;
        r.thread = thread;
        out.push_back(r);
    }
    for (; at < end; ++at)
        if (file[at] != 0) BOOST_FAIL("behind the last record there is something");
}

inline trace_contents read_trace(const std::string &path) {
    std::ifstream in(path, std::ios::binary);
    std::string file((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    trace_contents all;
    BOOST_TEST_REQUIRE(file.size() >= sizeof all.header);
    std::memcpy(&all.header, file.data(), sizeof all.header);
    BOOST_TEST_REQUIRE(all.header.magic == ALLOT_TRACE_MAGIC);
    std::map<std::pair<std::uint64_t, std::uint32_t>, std::map<std::uint32_t, std::size_t>> streams;
    for (std::size_t at = all.header.slot_bytes; at < file.size();) {
        allot_trace_block head;
        std::memcpy(&head, file.data() + at, sizeof head);
        if (head.magic != ALLOT_TRACE_BLOCK_MAGIC) { // claimed, and then its process was killed
            BOOST_TEST_REQUIRE(head.magic == 0u);
            at += all.header.slot_bytes;
            continue;
        }
        BOOST_TEST_REQUIRE((streams[{head.image_started, head.stream}].emplace(head.sequence, at).second));
        at += std::size_t{head.nr_slots} * all.header.slot_bytes;
        BOOST_TEST_REQUIRE(at <= file.size());
    }
    for (const auto &[key, blocks] : streams)
        for (const auto &[sequence, at] : blocks) {
            BOOST_TEST_REQUIRE((sequence == 0 || blocks.count(sequence - 1) != 0), "a block is missing");
            allot_trace_block head;
            std::memcpy(&head, file.data() + at, sizeof head);
            read_trace_block(file, at + sizeof head, at + std::size_t{head.nr_slots} * all.header.slot_bytes, head,
                             all.records);
        }
    return all;
}

// Of one image: no address is allocated while it lives or freed while it does not. What lives at the end, by address.
inline std::map<std::uint64_t, trace_text_record> live_at_end(const trace_contents &trace, std::uint32_t pid) {
    std::map<std::uint64_t, trace_text_record> live;
    for (const trace_text_record &r : trace.in_time()) {
        if (r.pid != pid) continue;
        if (r.kind == ALLOT_TRACE_ALLOC && !live.emplace(r.address, r).second) BOOST_FAIL("allocated while it lives");
        if (r.kind == ALLOT_TRACE_FREE && live.erase(r.address) == 0) BOOST_FAIL("freed, and does not live");
        if (r.kind == ALLOT_TRACE_RESIZE && live.count(r.address) == 0) BOOST_FAIL("resized, and does not live");
    }
    return live;
}
