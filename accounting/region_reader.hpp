// Reads the region file of another process, living or dead, without trusting a byte of it.
//
// It exists for the command: reports after the end of a program, also one that was killed, and views of running ones. It
// copies the file's tables with read(2) and looks at the copy, so that a file that is cut short or written meanwhile can
// neither raise SIGBUS nor change between a check and its use.
//
// Threads: an object belongs to one thread.
// Owner: the object owns its copy until it is destroyed or opened anew.
// Invariants: every index is checked before use and every text is terminated, whatever the file holds; what does not make
//   sense is left out. Figures of a program that runs are a moment's, each consistent in itself.
// Cost: a copy of the used part of the tables.
#pragma once

#include "accounting/processes.hpp"
#include "accounting/tenant.hpp"

#include <cstddef>
#include <cstdint>

namespace allot {

enum class process_end : std::uint32_t {
    running,
    exited,  // it said so at its end
    died,    // it is gone and did not say so: a signal, _exit, or exec
    unknown, // of another pid namespace
};

struct process_view {
    std::uint32_t pid, parent;
    std::uint64_t start_time;
    process_end end;
    char name[process_name_bytes];
    char executable[process_path_bytes];
    std::uint64_t uncounted, uncounted_peak; // bytes mapped that nobody is charged for
};

struct tenant_view {
    std::uint32_t index, parent, depth;
    char name[tenant_name_bytes];
    std::uint64_t current; // without stocks
    std::uint64_t usage, peak;
    std::uint64_t min, low, high, max; // unlimited: none
    refusal_policy policy;
    std::uint64_t events[allot_nr_events];       // of the subtree
    std::uint64_t events_local[allot_nr_events]; // its own
    std::int64_t stats[allot_nr_stats];          // of the subtree, as memory.stat
};

enum class region_error : std::uint32_t {
    none,
    not_there,     // the file cannot be opened
    not_a_region,  // something else, or not finished
    other_version, // made by another major version
    other_layout,  // byte order or sizes that this build does not know
    no_memory,
};

class region_reader {
public:
    region_reader() = default;
    ~region_reader();
    region_reader(const region_reader &) = delete;
    region_reader &operator=(const region_reader &) = delete;

    [[nodiscard]] region_error open(const char *path);

    // Of the file whose header was read, also when that is why it was refused.
    std::uint32_t major() const { return major_; }
    std::uint32_t minor() const { return minor_; }

    const process_view &process() const { return process_; }
    std::uint32_t default_tenant() const { return default_tenant_; } // of that process
    std::uint64_t anomalies() const { return anomalies_; }

    // Indices are below this; not every one is of a tenant. False: this one is not.
    std::uint32_t tenants_end() const { return tenants_.count; }
    [[nodiscard]] bool tenant_at(std::uint32_t index, tenant_view &out) const;
    // "/" or "/a/b", cut to fit, terminated; the length of the whole.
    std::size_t path_of(std::uint32_t index, char *buffer, std::size_t size) const;

private:
    struct copy {
        std::uintptr_t at = 0;
        std::size_t bytes = 0;
        std::uint32_t count = 0;
    };
    // What tenants and contexts say, with their descendants: statistics by number, and `stock` is what is unused.
    struct sums {
        std::int64_t value[allot_nr_stats];
    };

    region_error read(int fd);
    bool read_table(int fd, const region_header &header, table in, copy &out);
    void read_process(int fd, const region_header &header);
    void add_up();
    void add_to_ancestors(std::uint32_t tenant, const sums &part);
    const tenant *living(std::uint32_t index) const;
    void forget();

    copy tenants_, obj_cgroups_, contexts_, extras_, sums_;
    process_view process_{};
    std::uint32_t major_ = 0, minor_ = 0, default_tenant_ = 0;
    std::uint64_t anomalies_ = 0;
};

// In one line, for people; without the name of the file.
[[nodiscard]] const char *region_error_text(region_error);

} // namespace allot
