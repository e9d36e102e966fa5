#include "accounting/shared/file.hpp"

#include "accounting/base/os.hpp"
#include "accounting/base/report.hpp"
#include "accounting/shared/ledger.hpp"
#include "accounting/shared/nodes.hpp"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

namespace allot::shared {

constinit view the_file{.base = 0, .device = 0, .inode = 0};

namespace {

constexpr std::uint64_t piece_bytes = 65536;
constexpr std::uint32_t nr_words = (file_bytes / piece_bytes + 63) / 64;
static_assert(file_bytes % piece_bytes == 0);

// Pieces whose memory this process has seen to be there: a bit each. Set by any thread, read by all; relaxed, since it is the
// system that put the memory there.
constinit std::atomic<std::uint64_t> reached[nr_words]{};

// By which name the file was attached, for kernels on which its memory can be had through a descriptor alone.
constinit char file_path[512]{};

void forget_pieces() {
    for (auto &word : reached) word.store(0, std::memory_order_relaxed);
}

bool reach_piece_by_file(std::uint64_t offset) {
    const int fd = os_open(file_path, O_RDWR | O_NOFOLLOW);
    if (fd < 0) return false;
    const os_file_facts facts = os_facts_of(fd);
    const bool had = facts.is_regular && facts.device == the_file.device && facts.inode == the_file.inode &&
                     os_allocate_file_space(fd, offset, piece_bytes);
    os_close(fd);
    return had;
}

bool reach_piece(std::uint64_t piece) {
    std::atomic<std::uint64_t> &word = reached[piece / 64];
    const std::uint64_t bit = std::uint64_t{1} << piece % 64;
    if ((word.load(std::memory_order_relaxed) & bit) != 0) return true;
    switch (os_populate(the_file.base + piece * piece_bytes, piece_bytes)) {
    case populated::yes: break;
    case populated::no_memory: return false;
    case populated::not_offered:
        if (!reach_piece_by_file(piece * piece_bytes)) return false;
    }
    word.fetch_or(bit, std::memory_order_relaxed);
    return true;
}

} // namespace

bool reach_bytes(std::uint64_t offset, std::uint64_t bytes) {
    for (std::uint64_t piece = offset / piece_bytes; piece * piece_bytes < offset + bytes; ++piece)
        if (!reach_piece(piece)) return false;
    return true;
}

bool reach(part p, std::uint32_t index) {
    const auto at = static_cast<std::uint32_t>(p);
    const std::uint64_t bytes = part_records[at][0];
    return index < part_records[at][1] && reach_bytes(part_offset(at) + index * bytes, bytes);
}

std::uint32_t take_fresh(part p) {
    std::atomic<std::uint32_t> &end = head().used[static_cast<std::uint32_t>(p)];
    std::uint32_t index = end.load(std::memory_order_relaxed);
    do {
        // Touchable before anybody is led to it.
        if (index == 0 || !reach(p, index)) return 0;
    } while (!end.compare_exchange_weak(index, index + 1, std::memory_order_seq_cst));
    return index;
}

bool is_node_below(std::uint32_t node, std::uint32_t top) {
    for (std::uint32_t levels = 0; node != 0 && node < nr_nodes && levels <= ALLOT_TENANT_DEPTH_MAX; ++levels) {
        if (node == top) return true;
        node = node_at(node).parent;
    }
    return false;
}

const char *attach_error_text(attach_error error) {
    switch (error) {
    case attach_error::none: return "attached";
    case attach_error::not_there: return "is not there or cannot be opened";
    case attach_error::not_ours: return "belongs to another user or is no regular file";
    case attach_error::not_a_file: return "is no hierarchy's file, or was cut short";
    case attach_error::other_version: return "is of another version";
    case attach_error::other_layout: return "has another layout";
    case attach_error::no_memory: return "finds no memory or no address space";
    }
    return "";
}

std::uint64_t boot_number() {
    char text[64];
    if (os_read_whole("/proc/sys/kernel/random/boot_id", text, sizeof text) <= 0) return 0;
    std::uint64_t hash = 14695981039346656037u; // FNV-1a
    for (const char *at = text; *at != '\0'; ++at) hash = (hash ^ static_cast<unsigned char>(*at)) * 1099511628211u;
    return hash;
}

namespace {

// What a header begins with, which does not change once it is `ready`.
struct opening {
    alignas(header) char bytes[offsetof(header, current)];

    template<class T>
    T at(std::size_t offset) const {
        T value;
        std::memcpy(&value, bytes + offset, sizeof value);
        return value;
    }
    std::uint32_t word(std::size_t offset) const { return at<std::uint32_t>(offset); }
};

bool has_our_parts(const opening &h) {
    for (std::uint32_t p = 0; p < nr_parts; ++p) {
        const auto place = h.at<part_place>(offsetof(header, parts) + p * sizeof(part_place));
        if (place.offset != part_offset(p) || place.record_bytes != part_records[p][0] ||
            place.capacity != part_records[p][1])
            return false;
    }
    return h.word(offsetof(header, header_bytes)) == sizeof(header);
}

attach_error look_at(int fd, attached_file &result, std::uint64_t &boot) {
    const os_file_facts facts = os_facts_of(fd);
    if (!facts.is_regular || facts.uid != os_uid()) return attach_error::not_ours;
    opening h;
    if (os_read_at(fd, h.bytes, sizeof h.bytes, 0) != sizeof h.bytes) return attach_error::not_a_file;
    if (std::memcmp(h.bytes + offsetof(header, magic), file_magic, sizeof file_magic) != 0)
        return attach_error::not_a_file;
    if (h.word(offsetof(header, endianness)) != file_endianness) return attach_error::other_layout;
    result.major = h.word(offsetof(header, major));
    result.minor = h.word(offsetof(header, minor));
    if (result.major != file_major) return attach_error::other_version;
    if (!has_our_parts(h)) return attach_error::other_layout;
    if (facts.bytes != file_bytes || h.word(offsetof(header, ready)) != 1) return attach_error::not_a_file;
    the_file.device = facts.device;
    the_file.inode = facts.inode;
    boot = h.at<std::uint64_t>(offsetof(header, boot));
    return attach_error::none;
}

// What everybody touches without asking.
bool reach_always() {
    return reach_bytes(0, sizeof(header)) && reach(part::ops, 0) && reach(part::ops, nr_first_ops - 1) &&
           reach(part::nodes, root_node);
}

bool map_whole(int fd) {
    forget_pieces();
    the_file.base = os_map_file_anywhere(file_bytes, fd, 0);
    if (the_file.base == 0) return false;
    if (reach_always()) return true;
    detach();
    return false;
}

bool write_new() {
    header &h = head();
    std::memcpy(h.magic, file_magic, sizeof h.magic);
    h.major = file_major;
    h.minor = file_minor;
    h.endianness = file_endianness;
    h.header_bytes = sizeof h;
    h.uid = os_uid();
    h.boot = boot_number();
    for (std::uint32_t p = 0; p < nr_parts; ++p) {
        h.parts[p] = {part_offset(p), part_records[p][0], part_records[p][1]};
        h.used[p].store(part{p} == part::ops ? nr_first_ops : 1, std::memory_order_relaxed);
    }
    if (!make_root()) return false;
    h.ready.store(1, std::memory_order_release);
    return true;
}

bool is_same_file(const os_file_facts &a, const os_file_facts &b) {
    return a.is_regular && b.is_regular && a.device == b.device && a.inode == b.inode;
}

// Whether a path leads to an open file.
bool leads_to(const char *path, int fd) {
    const int there = os_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (there < 0) return false;
    const bool is = is_same_file(os_facts_of(there), os_facts_of(fd));
    os_close(there);
    return is;
}

// Writes a file under a name that nobody looks for, and then gives it its own. A file of an earlier boot is replaced by who
// has its lock while it still has the name, since two who replace it one after the other would not meet in one file.
attach_error make_file(const char *folder, const char *path, int old, bool &is_new) {
    line_writer name;
    name.text(folder).text("/.new-").number(os_random());
    const int fd = os_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd < 0) return attach_error::not_there;
    const os_file_facts facts = os_facts_of(fd);
    the_file.device = facts.device;
    the_file.inode = facts.inode;
    std::memcpy(file_path, name.c_str(), name.length() + 1);
    const bool is_whole = os_set_file_bytes(fd, file_bytes) && map_whole(fd) && write_new();
    detach();
    os_close(fd);
    if (is_whole && old < 0) is_new = os_link(name.c_str(), path);
    if (is_whole && old >= 0) is_new = os_lock_file(old) && leads_to(path, old) && os_rename(name.c_str(), path);
    os_remove_file(name.c_str());
    return is_whole ? attach_error::none : attach_error::no_memory;
}

attach_error open_and_map(const char *folder, const char *path, if_missing missing, attached_file &result) {
    constexpr int attempts = 8; // others make and remove it meanwhile
    attach_error error = attach_error::not_there;
    for (int i = 0; i < attempts; ++i) {
        const int fd = os_open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK);
        if (fd < 0 && (fd != -ENOENT || missing == if_missing::fail)) return attach_error::not_there;
        std::uint64_t boot = 0;
        error = fd < 0 ? attach_error::not_there : look_at(fd, result, boot);
        const std::uint64_t now = boot_number();
        const bool is_old = error == attach_error::none && boot != 0 && now != 0 && boot != now;
        if (error == attach_error::none && !is_old) {
            std::memcpy(file_path, path, std::strlen(path) + 1);
            if (!map_whole(fd)) error = attach_error::no_memory;
            os_close(fd);
            return error;
        }
        if (fd < 0 || (is_old && missing == if_missing::make))
            error = make_file(folder, path, fd, result.is_new);
        else if (is_old)
            error = attach_error::not_there;
        if (fd >= 0) os_close(fd);
        if (error != attach_error::none) return error;
    }
    return attach_error::not_there;
}

bool write_paths(const char *dir, const char *name, line_writer &folder, line_writer &path) {
    folder.text(dir).text("/").text(name);
    path.text(folder.c_str()).text("/").text(file_name);
    constexpr std::size_t room_for_new = 32;
    return dir[0] != '\0' && name[0] != '\0' && folder.length() + room_for_new < sizeof file_path;
}

} // namespace

attached_file attach(const char *dir, const char *name, if_missing missing) {
    attached_file result{};
    line_writer folder, path;
    result.error = attach_error::not_there;
    if (!write_paths(dir, name, folder, path)) return result;
    if (missing == if_missing::make && !(os_make_directory(dir) && os_make_directory(folder.c_str()))) return result;
    result.error = open_and_map(folder.c_str(), path.c_str(), missing, result);
    if (result.error != attach_error::none) result.is_new = false;
    return result;
}

void detach() {
    if (is_attached()) os_unmap(the_file.base, file_bytes);
    the_file.base = 0;
    forget_pieces();
}

// --- copies -----------------------------------------------------------------------------------------------------------------

namespace {

void cap(std::uint32_t &index, std::uint32_t end) {
    if (index >= end) index = 0;
}
void cap(std::atomic<std::uint32_t> &index, std::uint32_t end) {
    if (index.load(std::memory_order_relaxed) >= end) index.store(0, std::memory_order_relaxed);
}

bool read_part(int fd, std::uint64_t offset, std::uint64_t bytes) {
    return os_read_at(fd, reinterpret_cast<void *>(the_file.base + offset), bytes, offset) == static_cast<long>(bytes);
}

bool read_used(int fd) {
    if (!read_part(fd, 0, sizeof(header))) return false;
    header &h = head();
    for (std::uint32_t p = 0; p < nr_parts; ++p)
        if (h.used[p].load(std::memory_order_relaxed) > part_records[p][1])
            h.used[p].store(part_records[p][1], std::memory_order_relaxed);
    const std::uint32_t contexts = used(part::chunk_owners) * chunk_contexts;
    h.used[static_cast<std::uint32_t>(part::takings)].store(contexts, std::memory_order_relaxed);
    h.used[static_cast<std::uint32_t>(part::contexts)].store(contexts, std::memory_order_relaxed);
    for (std::uint32_t p = 1; p < nr_parts; ++p)
        if (!read_part(fd, part_offset(p), std::uint64_t{used(part{p})} * part_records[p][0])) return false;
    return true;
}

void make_sound() {
    const std::uint32_t nodes = used(part::nodes), accounts = used(part::accounts), members = used(part::members);
    for (auto &bucket : head().name_buckets) cap(bucket, nodes);
    for (std::uint32_t i = 0; i < nodes; ++i) {
        node &n = node_at(i);
        n.name[ALLOT_TENANT_NAME_MAX] = '\0';
        cap(n.hash_next, nodes);
        cap(n.parent, i);
        if (n.parent == 0 && i > root_node) n.parent = root_node;
        n.depth = i <= root_node ? 0 : node_at(n.parent).depth + 1;
        // Too deep to be true: below the root.
        if (n.depth > ALLOT_TENANT_DEPTH_MAX) n.parent = root_node, n.depth = 1;
    }
    for (std::uint32_t i = 0; i < members; ++i) {
        member &m = member_at(i);
        m.name[member_name_bytes - 1] = '\0';
        m.executable[member_path_bytes - 1] = '\0';
        cap(m.node, nodes);
        cap(m.copy_of, members);
    }
    for (std::uint32_t i = 0; i < accounts; ++i) {
        account &a = account_at(i);
        const std::uint64_t owner = a.owner.load(std::memory_order_relaxed);
        if (low_of(owner) >= nodes || member_of_tag(high_of(owner)) >= members)
            a.owner.store(0, std::memory_order_relaxed);
    }
    for (std::uint32_t i = 0; i < used(part::takings); ++i) cap(taking_at(i).account, accounts);
}

bool read_one_moment(int fd) {
    constexpr int attempts = 8;
    for (int i = 0; i < attempts; ++i) {
        if (!read_used(fd)) return false;
        const ledger_moment before = ledger_now();
        std::uint64_t current = 0;
        if (os_read_at(fd, &current, sizeof current, offsetof(header, current)) != sizeof current) return false;
        if (before.is_quiet && current == head().current.load(std::memory_order_relaxed)) break;
    }
    return true;
}

} // namespace

attached_file attach_copy(const char *dir, const char *name) {
    attached_file result{};
    line_writer folder, path;
    result.error = attach_error::not_there;
    if (!write_paths(dir, name, folder, path)) return result;
    const int fd = os_open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return result;
    std::uint64_t boot = 0;
    result.error = look_at(fd, result, boot);
    if (result.error == attach_error::none) {
        the_file.base = os_map(file_bytes);
        if (!is_attached())
            result.error = attach_error::no_memory;
        else if (read_one_moment(fd))
            make_sound();
        else
            detach(), result.error = attach_error::not_a_file;
    }
    os_close(fd);
    return result;
}

} // namespace allot::shared
