#include "tools/trace_blocks.hpp"

#include "tools/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace allot {
namespace {

constexpr std::uint32_t slot_bytes_max = std::uint32_t{1} << 20;

// False: the bytes end within it, or it has more than 64 bits.
bool read_number(std::string_view &rest, std::uint64_t &out) {
    out = 0;
    for (unsigned shift = 0; shift < 70 && !rest.empty(); shift += 7) {
        const auto byte = static_cast<unsigned char>(rest.front());
        rest.remove_prefix(1);
        if (shift == 63 && byte > 1) return false;
        out |= std::uint64_t{byte & 0x7fu} << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

bool is_a_block(const allot_trace_block &head) {
    return head.magic == ALLOT_TRACE_BLOCK_MAGIC && std::has_single_bit(head.nr_slots) &&
           head.nr_slots <= ALLOT_TRACE_BLOCK_SLOTS_MAX;
}

bool is_zero(const allot_trace_block &head) {
    const allot_trace_block zero{};
    return std::memcmp(&head, &zero, sizeof head) == 0;
}

} // namespace

trace_step read_trace_record(std::string_view &rest, trace_record &out) {
    if (rest.empty() || rest.front() == 0) return trace_step::end;
    const auto first = static_cast<unsigned char>(rest.front());
    rest.remove_prefix(1);
    out = {};
    out.kind = first & 31u;
    out.nr_numbers = first >> 5;
    for (std::uint32_t i = 0; i < out.nr_numbers; ++i)
        if (!read_number(rest, out.numbers[i])) return trace_step::torn;
    if (out.kind < ALLOT_TRACE_FIRST_KIND_WITH_TEXT) return trace_step::record;
    const std::uint64_t length = out.nr_numbers == 0 ? 0 : out.numbers[out.nr_numbers - 1];
    if (length > rest.size()) return trace_step::torn;
    out.text = rest.substr(0, length);
    rest.remove_prefix(length);
    return trace_step::record;
}

trace_blocks::trace_blocks(const std::string &path) : path_(path) {
    fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd_ < 0) throw failure(fmt::format("{}: {}", path, strerror(errno)));
    try {
        read_header();
        find_blocks();
        sort_streams();
    } catch (...) {
        close(fd_);
        throw;
    }
}

trace_blocks::~trace_blocks() { close(fd_); }

void trace_blocks::read_header() {
    struct stat st {};
    if (fstat(fd_, &st) != 0 || !S_ISREG(st.st_mode)) throw failure(path_ + ": is no regular file");
    file_bytes_ = static_cast<std::uint64_t>(st.st_size);
    if (file_bytes_ == 0) throw failure(path_ + ": is empty: no program that loads the library has recorded anything");
    if (read_at(&header_, sizeof header_, 0) != sizeof header_ || header_.magic != ALLOT_TRACE_MAGIC)
        throw failure(path_ + ": is no trace");
    if (header_.major != ALLOT_TRACE_MAJOR)
        throw failure(fmt::format("{}: is a trace of version {}.{}; this command reads {}.x", path_, header_.major,
                                  header_.minor, ALLOT_TRACE_MAJOR));
    if (!std::has_single_bit(header_.slot_bytes) || header_.slot_bytes < ALLOT_TRACE_SLOT_BYTES_LEAST ||
        header_.slot_bytes > slot_bytes_max)
        throw failure(fmt::format("{}: is damaged: its slots would have {} bytes", path_, header_.slot_bytes));
}

void trace_blocks::find_blocks() {
    for (std::uint64_t offset = header_.slot_bytes; offset < file_bytes_;) {
        allot_trace_block head{};
        const std::size_t got = read_at(&head, sizeof head, offset);
        if (got != sizeof head || !is_a_block(head)) {
            ++(is_zero(head) ? nr_empty_ : nr_damaged_);
            offset += header_.slot_bytes;
            continue;
        }
        const std::uint64_t bytes = std::uint64_t{head.nr_slots} * header_.slot_bytes;
        const std::uint64_t there = std::min(bytes, file_bytes_ - offset);
        if (there < bytes) ++nr_cut_;
        streams_[{head.pid, head.image_started, head.stream}].push_back(
            {offset + sizeof head, there - sizeof head, head});
        offset += bytes;
    }
}

void trace_blocks::sort_streams() {
    for (auto &[key, blocks] : streams_) {
        const auto number = [](const trace_block_place &b) { return b.head.sequence; };
        std::stable_sort(blocks.begin(), blocks.end(),
                         [&](const auto &a, const auto &b) { return number(a) < number(b); });
        const auto same = std::unique(blocks.begin(), blocks.end(),
                                      [&](const auto &a, const auto &b) { return number(a) == number(b); });
        nr_damaged_ += static_cast<std::uint64_t>(blocks.end() - same);
        blocks.erase(same, blocks.end());
        nr_missing_ += number(blocks.back()) + std::uint64_t{1} - blocks.size();
    }
}

std::size_t trace_blocks::read_at(void *to, std::size_t bytes, std::uint64_t offset) const {
    std::size_t done = 0;
    while (done < bytes) {
        const ssize_t got = pread(fd_, static_cast<char *>(to) + done, bytes - done, static_cast<off_t>(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) throw failure(fmt::format("{}: {}", path_, strerror(errno)));
        if (got == 0) break; // cut since it was opened
        done += static_cast<std::size_t>(got);
    }
    return done;
}

std::string trace_blocks::read(const trace_block_place &block) const {
    std::string bytes(block.bytes, '\0');
    bytes.resize(read_at(bytes.data(), bytes.size(), block.offset));
    return bytes;
}

} // namespace allot
