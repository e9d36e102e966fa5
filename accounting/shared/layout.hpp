// The file that processes of one hierarchy share: what lies in it, and where.
//
// It exists so that a limit holds for the sum of many processes, any of which may be stopped or killed between any two of
// its instructions. So nothing in it is guarded by a lock that somebody could hold for ever:
//
//   figures of the tree     `wide` words, changed by the ledger's operations alone, which everybody can finish (ledger.hpp)
//   who a record belongs to one word, claimed by compare-and-swap with the claimer's name in it
//   settings, statistics    single atomic words
//   a context               its owner's, under its owner's lock; others take unused stock from it as remote.hpp says
//
//   |header|ops|members|nodes        |accounts    |chunk owners|takings|contexts                    |
//    each part has its place in a sparse file of file_bytes, which is mapped as a whole when a process attaches, since later
//    it may be in another root, without descriptors, or forbidden to open; its memory is had piece by piece (reach)
//
// Threads: any of any process that has attached; each field says who writes it.
// Owner: nobody. Whoever finds that a process is dead puts its records in order (members.hpp).
// Invariants: 1. Records name each other by index; index 0 names nothing.
//             2. usage of a node = sum of `charged` of all accounts at it and below, whenever no operation is under way.
// Cost: 128 MiB of addresses, of which memory is what is used.
#pragma once

#include "accounting/base/cache_line.hpp"
#include "accounting/base/units.hpp"
#include "accounting/refusal.hpp"
#include "accounting/uncounted.hpp"

#include <allot/stats.h>
#include <allot/tenant.h>

#include <atomic>
#include <cstdint>

namespace allot::shared {

inline constexpr char file_magic[8] = {'a', 'l', 'l', 'o', 't', '\n', '\x1a', '\x03'};
inline constexpr std::uint32_t file_major = 3; // changes when old readers would misread
inline constexpr std::uint32_t file_minor = 0; // changes when something was appended
inline constexpr std::uint32_t file_endianness = 0x01020304;

// A figure of the tree, and the number of the operation that changed it last. Written by the ledger alone, both halves at
// once; the halves are read one by one, `stamp` first and acquire, by who then compares and swaps both.
struct alignas(16) wide {
    std::atomic<std::uint64_t> value;
    std::atomic<std::uint64_t> stamp;
};

// --- records ---------------------------------------------------------------------------------------------------------------

// A process image, from its first call to its end, and after that what is known of it until the record is used again.
// exited: it said so, and may still be at it. died, ended: dead, and holds nothing any more; ended said before that it exits.
enum class member_state : std::uint8_t { unused, claimed, running, exited, died, ended };
inline constexpr std::uint32_t member_name_bytes = 64;
inline constexpr std::uint32_t member_path_bytes = 240;

struct alignas(cache_line_bytes) member {
    // pid << 32 | generation << 8 | state. Claimed by compare-and-swap, so that a claimer that dies at once is known; states
    // are written by the process and, once it is dead, by who reaps it. acquire by all who rely on the fields below.
    std::atomic<std::uint64_t> identity;
    // Written by the process before it is `running`; read by anyone after that, relaxed.
    std::atomic<std::uint64_t> start_time;     // of /proc/PID/stat, in clock ticks since boot
    std::atomic<std::uint64_t> start_of_stack; // differs after exec, where the id and the start time stay
    std::atomic<std::uint64_t> pid_namespace;  // inode number: in which its pid means something
    std::atomic<std::uint64_t> boot;           // a number of the boot of the system in which it ran
    std::atomic<std::uint64_t> image;          // a random number of the program's start, which the process itself knows
    std::atomic<std::uint64_t> born;           // a number that grows with each attachment
    std::atomic<std::uint32_t> parent;         // pid
    // The member of which this one is a forked copy, and its generation; 0: a fresh image. It may hold what that one paid for.
    std::atomic<std::uint32_t> copy_of, copy_of_generation;
    std::atomic<std::uint32_t> node; // its own tenant
    uncounted_bytes uncounted;
    // Highest sum of its accounts, bytes: written by whoever charges for it, relaxed: a statistic.
    std::atomic<std::uint64_t> peak;
    // When it last began to fork, CLOCK_MONOTONIC in nanoseconds; written by the process, read by who reaps it, relaxed.
    std::atomic<std::uint64_t> last_fork;
    // When it was last seen to be alive, CLOCK_MONOTONIC in nanoseconds; written by who looked, relaxed.
    std::atomic<std::uint64_t> seen_alive;
    // A wish of another process: how much, and what; see requests.hpp.
    wide request;
    std::atomic<std::uint64_t> request_answer, request_done;
    char name[member_name_bytes];       // file name of the executable, cut to fit
    char executable[member_path_bytes]; // its whole path, cut to fit
};
static_assert(sizeof(member) == 448);

// claimed: being made; once it is linked, all is there, and whoever finds it makes it living. removing: whoever needs it makes
// it living again, and it was not removed. reviving: its settings are being forgotten, by its claimer alone.
enum class node_state : std::uint8_t { unused, claimed, living, removing, removed, reviving };

// What may be set. Written by who sets limits, in any process; read by every charger, seq_cst: a charge is an operation that
// reads them when it is decided, so who has set one and then waited for the operation under way has set it for all later ones.
struct limits {
    std::atomic<std::uint64_t> min, low, high, max;
};

// A tenant, as all processes see it.
struct node {
    alignas(cache_line_bytes) wide usage; // bytes charged here and below
    std::atomic<std::uint64_t> peak;      // highest usage after a charge; raised by the ledger, relaxed
    // How many contexts there are at this node and below: among how many what is left must be shared. relaxed: a hint, which
    // deaths leave too high until a reaper counts again.
    std::atomic<std::uint32_t> nr_contexts;

    alignas(cache_line_bytes) limits set;
    std::atomic<std::uint64_t> headroom;
    std::atomic<std::uint32_t> descendants_max;
    std::atomic<refusal_policy> on_refusal;
    std::atomic<std::uint8_t> kills_group, throttle; // as in tenant.hpp

    // Claimed and, when its name is there, linked by compare-and-swap. claimer's tag << 32 | generation << 8 | state.
    alignas(cache_line_bytes) std::atomic<std::uint64_t> identity;
    // Written before it is linked, and for good: a removed node keeps its place, and comes back under the same name.
    std::uint32_t parent, depth; // node index, 0 at the root; 0 at the root
    std::uint32_t hash_next;
    std::uint32_t unused;

    alignas(cache_line_bytes) char name[ALLOT_TENANT_NAME_MAX + 1];

    // Written by who counts one, relaxed: statistics. Own ones, and those of the subtree.
    alignas(cache_line_bytes) std::atomic<std::uint64_t> events_local[8];
    std::atomic<std::uint64_t> events[8];
    // Of the node alone, of all processes that ever were: relaxed.
    alignas(cache_line_bytes) std::atomic<std::uint64_t> forced;
    std::atomic<std::uint64_t> headroom_charges, injected, reclaimed, delayed_us;
    std::atomic<std::uint64_t> lost; // bytes that a dead process held, taken back by who reaped it
};
static_assert(sizeof(node) == 448);

// What a process is charged at a tenant itself, not below, by kind: bytes. Written under a direct lock (large, external) or a
// context's lock and the registry lock (settled); read by anyone, relaxed: figures.
struct charge_lines {
    std::atomic<std::int64_t> large;
    std::atomic<std::int64_t> external;
    std::atomic<std::int64_t> settled_bytes; // slab bytes charged through contexts that are closed by now, net
    std::atomic<std::int64_t> settled_objects;
};

// What one member is charged for at one node itself, not below.
struct account {
    alignas(cache_line_bytes) wide charged; // bytes, stocks included
    // member's tag << 32 | node; 0: free. Claimed by the member, the node last, when the rest has been put in order; freed, once
    // nothing is charged, by it or by who reaps it. The tag tells a late reaper that the member's record is another's by now.
    std::atomic<std::uint64_t> owner;
    std::atomic<std::uint32_t> generation; // grows each time the record is claimed
    // Its contexts that hold stock, or may: where it is 0, a drain finds nothing. Written by the member; seq_cst, see remote.hpp.
    std::atomic<std::uint32_t> nr_holding;
    std::atomic<std::uint32_t> nr_contexts;
    std::uint32_t unused;
    // How much of `passed` is in the lines below: written by the member, under its registry lock; read by anyone, relaxed.
    std::atomic<std::uint64_t> passed_seen;
    wide passed; // bytes in all that came here from dead members, see members.hpp; and handed_on
    alignas(cache_line_bytes) charge_lines lines; // of the member
    // What the member has inherited by a fork here and not freed since, bytes: what passes to it if the payer dies.
    std::atomic<std::int64_t> inherited;
    std::atomic<std::uint64_t> peak; // highest `charged`; raised by the ledger
    std::atomic<std::uint32_t> nr_delayed;
    // Of what was passed here, what has not been freed since, bytes. Written by the member.
    std::atomic<std::int64_t> passed_left;
};
static_assert(sizeof(account) == 128);
// Is added to `passed` of a dead member's account whose heir has got something: that is done once.
inline constexpr std::uint64_t handed_on = std::uint64_t{1} << 62;

// Beside a context of the same index: what others took from it.
struct taking {
    wide taken; // bytes in all, since the record was first used
    // How much of that the context's owner knows, and the account that its stock is charged to. Under the context's lock; the
    // account is read without it by who looks for contexts.
    std::atomic<std::uint64_t> seen;
    std::atomic<std::uint32_t> account;
    std::uint32_t unused;
};
static_assert(sizeof(taking) == 32);

// --- an operation of the ledger, see ledger.hpp ------------------------------------------------------------------------------

enum class op_kind : std::uint32_t {
    charge,   // account and its levels go up, if they may
    uncharge, // they go down
    take,     // the same, from a context's stock, if it is locked by who asked
    reap,     // all that an account has
    move,     // from an account to another; only levels that are not common change
    move_all,
    pass, // from a dead member's account to its heir's at the same node
};

struct alignas(cache_line_bytes) operation {
    // member's tag << 32 | thread id << 10 | some bits that differ between operations, while a thread uses the record. Claimed and
    // given back by compare-and-swap.
    std::atomic<std::uint64_t> owner;
    // number << 8 | what was decided. By compare-and-swap, once for each number.
    std::atomic<std::uint64_t> decision;
    // What is to be done: written by the owner before it is announced, release; read by helpers, acquire, who look then whether it still
    // is the operation that they meant.
    std::atomic<op_kind> kind;
    std::atomic<std::uint32_t> account, to_account;
    // Where these are: an account may be another node's once it has been freed, and who is late must not look there.
    std::atomic<std::uint32_t> node, to_node;
    // lock: of a pass, the generation of the other account.
    std::atomic<std::uint32_t> context, lock, to_generation, beyond, generation;
    std::atomic<std::uint64_t> bytes;
};
static_assert(sizeof(operation) == cache_line_bytes);

// --- the file ----------------------------------------------------------------------------------------------------------------

enum class part : std::uint32_t { ops, members, nodes, accounts, chunk_owners, takings, contexts };
inline constexpr std::uint32_t nr_parts = 7;

// As many threads may be stopped for good amid an operation. The first ones are there from the start and serve while few are.
inline constexpr std::uint32_t nr_ops = 4096, nr_first_ops = 1024;
inline constexpr std::uint32_t nr_members = 8192;
inline constexpr std::uint32_t nr_nodes = 32768;
inline constexpr std::uint32_t nr_accounts = 65536;
// Contexts are given out to processes in chunks, whose owner is one word each: generation << 32 | member.
inline constexpr std::uint32_t chunk_contexts = 64;
inline constexpr std::uint32_t nr_chunks = 8192;
inline constexpr std::uint32_t nr_contexts = nr_chunks * chunk_contexts;
inline constexpr std::uint32_t context_bytes = 128; // of a context_record

struct part_place {
    std::uint64_t offset;
    std::uint32_t record_bytes, capacity;
};
inline constexpr std::uint64_t header_bytes_max = 65536;
inline constexpr std::uint32_t part_records[nr_parts][2] = {
    {sizeof(operation), nr_ops},    {sizeof(member), nr_members},       {sizeof(node), nr_nodes},
    {sizeof(account), nr_accounts}, {sizeof(std::uint64_t), nr_chunks}, {sizeof(taking), nr_contexts},
    {context_bytes, nr_contexts}};
constexpr std::uint64_t part_offset(std::uint32_t p) {
    std::uint64_t at = header_bytes_max;
    for (std::uint32_t i = 0; i < p; ++i)
        at += (std::uint64_t{part_records[i][0]} * part_records[i][1] + header_bytes_max - 1) / header_bytes_max *
              header_bytes_max;
    return at;
}
inline constexpr std::uint64_t file_bytes = part_offset(nr_parts);
static_assert(file_bytes <= std::uint64_t{128} << 20);

inline constexpr std::uint32_t nr_name_buckets = 4096;

struct header {
    char magic[8];
    std::uint32_t major, minor, endianness, header_bytes;
    std::uint32_t uid, unused;
    std::uint64_t boot; // a number of this boot of the system: of another one, all members are dead
    part_place parts[nr_parts];
    // 1 once everything above and the root are there; release, acquire by who attaches.
    std::atomic<std::uint32_t> ready;
    std::atomic<std::uint64_t> births; // numbers for member::born

    // number << 13 | is under way << 12 | index of its record. The operation under way, or the last one. By compare-and-swap,
    // acq_rel: who sees it sees what is to be done.
    alignas(cache_line_bytes) std::atomic<std::uint64_t> current;

    // The drain's lease: ticket << 32 | member, 0 for none; until when, CLOCK_MONOTONIC in nanoseconds; and what is drained:
    // ticket << 32 | node. See lease.hpp.
    alignas(cache_line_bytes) std::atomic<std::uint64_t> lease;
    std::atomic<std::uint64_t> lease_until, draining;

    // Records of each part with an index below this have been used. Raised before a record is claimed; seq_cst, so that who looks
    // through all records, after saying why, misses none whose claimer has not seen that.
    alignas(cache_line_bytes) std::atomic<std::uint32_t> used[nr_parts];
    // What should not have happened and was put right. relaxed.
    std::atomic<std::uint64_t> anomalies;

    // Nodes by the hash of parent and name; heads of chains through node::hash_next, to which nodes are only ever added.
    // By compare-and-swap, release; acquire.
    alignas(cache_line_bytes) std::atomic<std::uint32_t> name_buckets[nr_name_buckets];
};
static_assert(sizeof(header) <= header_bytes_max);

inline constexpr std::uint32_t root_node = 1;

// A member's index with its generation, as owners of records are named: a record of members is used again 65535 times before
// two have the same.
constexpr std::uint32_t member_tag(std::uint32_t index, std::uint32_t generation) { return generation << 16 | index; }
constexpr std::uint32_t member_of_tag(std::uint32_t tag) { return tag & 0xffff; }
static_assert(nr_members <= 0x10000);

// --- words of several parts ----------------------------------------------------------------------------------------------------

constexpr std::uint64_t identity_word(std::uint32_t pid, std::uint32_t generation, std::uint8_t state) {
    return std::uint64_t{pid} << 32 | std::uint64_t{generation & 0xffffff} << 8 | state;
}
constexpr std::uint32_t pid_in(std::uint64_t identity) { return static_cast<std::uint32_t>(identity >> 32); }
constexpr std::uint32_t generation_in(std::uint64_t identity) {
    return static_cast<std::uint32_t>(identity >> 8) & 0xffffff;
}
constexpr member_state member_state_in(std::uint64_t identity) {
    return member_state{static_cast<std::uint8_t>(identity)};
}
constexpr node_state node_state_in(std::uint64_t identity) { return node_state{static_cast<std::uint8_t>(identity)}; }

constexpr std::uint64_t two_of(std::uint32_t high, std::uint32_t low) { return std::uint64_t{high} << 32 | low; }
constexpr std::uint32_t high_of(std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); }
constexpr std::uint32_t low_of(std::uint64_t word) { return static_cast<std::uint32_t>(word); }

} // namespace allot::shared
