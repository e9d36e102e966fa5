// Operations on a shared hierarchy, cut off at every single instruction.
//
//     stepped [--stride N] [--first N] [OPERATION...]       charge uncharge take move reap records
//
// A process is led through one operation instruction by instruction (ptrace). At each of them, in turn,
//   killed   it is killed and reaped: what it had is gone to the byte, and no record is left
//   helped   while it stands still another one charges and gives back, which must succeed; then it is killed and reaped
//   late     others have gone on, with the same records, when it goes on itself: its operation is done once
//   helper   it stands amid helping another one, which meanwhile finishes, and does fifty more with the same record
//   misled   the same, and goes on when the other one has written another operation into the record and not announced it
// One instruction in --stride is taken (default 1), from another first one in each run (--first N: from this). Of reap and
// records, which look through tables and ask the system, those after which the file differs: to who is killed, all up to the
// next of these are the same.
//
// Exit status 0: exact everywhere. 1: not, with the operation, the case and the instruction on stderr. 2: a wrong argument.
// 77: processes cannot be traced here.
#include "accounting/base/os.hpp"
#include "accounting/context.hpp"
#include "accounting/shared/accounts.hpp"
#include "accounting/shared/file.hpp"
#include "accounting/shared/ledger.hpp"
#include "accounting/shared/members.hpp"
#include "accounting/shared/nodes.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace allot;
using namespace allot::shared;

namespace {

std::uint32_t leaf, other_leaf, top; // /a/x, /b/y, /
constexpr std::uint64_t had = 100000, asked = 4096, inherited = 30000;

// What a stepped process tells the one that leads it.
struct told_words {
    std::atomic<std::uint32_t> member, account, other_account, victim;
    std::atomic<bool> is_done;
};
told_words *told;

std::uint64_t usage_of(std::uint32_t node) { return node_at(node).usage.value.load(); }
std::uint64_t charged_of(std::uint32_t at) { return account_at(at).charged.value.load(); }

void fail(const std::string &text) {
    std::fprintf(stderr, "stepped: %s\n", text.c_str());
    std::_Exit(1);
}

[[gnu::noinline]] void stop_here() { raise(SIGSTOP); }

void begin_life(std::uint32_t node, std::uint32_t copy_of) {
    os_child_start();
    this_member = this_tag = 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!member_join(node, copy_of)) std::_Exit(3);
}

std::uint32_t opened(std::uint32_t node, std::uint64_t bytes) {
    const std::uint32_t at = account_open(node);
    if (at == 0 || (bytes != 0 && ledger_charge(at, bytes).is != verdict::done)) std::_Exit(4);
    return at;
}

// --- the operations: what is so before, and what after, as usage of /a/x, /b/y and the root ----------------------------------

void step_charge() {
    const std::uint32_t at = told->account;
    stop_here();
    told->is_done = ledger_charge(at, asked).is == verdict::done;
}
void step_uncharge() {
    const std::uint32_t at = told->account;
    stop_here();
    told->is_done = ledger_uncharge(at, asked).is == verdict::done;
}
void step_move() {
    const std::uint32_t at = told->account, to = told->other_account;
    stop_here();
    told->is_done = ledger_move(at, to, asked).is == verdict::done;
}
void step_take() {
    const std::uint32_t at = told->account, chunk = chunk_open();
    constexpr std::uint32_t lock = 7;
    reinterpret_cast<context *>(context_address(chunk))->lock.store(lock);
    stop_here();
    told->is_done = ledger_take(at, chunk, lock, asked).is == verdict::done;
}
void step_reap() {
    const std::uint32_t victim = told->victim;
    stop_here();
    (void)reap(victim);
    told->is_done = true;
}
// A tenant is made, used, removed and brought back.
void step_records() {
    stop_here();
    const std::uint32_t made = node_make("/a/made").node, at = account_open(made), chunk = chunk_open();
    const bool is_charged =
        ledger_charge(at, asked).is == verdict::done && ledger_uncharge(at, asked).is == verdict::done;
    account_close(at);
    const int removed = node_remove(made);
    const std::uint32_t again = node_make("/a/made").node;
    // Others use it meanwhile, so that its removal may be refused.
    told->is_done =
        chunk != 0 && is_charged && (removed == 0 || removed == -EBUSY || removed == -ENOENT) && again == made;
}

enum class points { instructions, changes };
struct operation_case {
    const char *name;
    void (*run)(); // in the stepped process, between two stops
    std::uint64_t leaf_after, other_after;
    points where;
};
constexpr operation_case cases[] = {
    {"charge", step_charge, had + asked, 0, points::instructions},
    {"uncharge", step_uncharge, had - asked, 0, points::instructions},
    {"take", step_take, had - asked, 0, points::instructions},
    {"move", step_move, had - asked, asked, points::instructions},
    {"reap", step_reap, had + inherited, 0, points::changes},
    {"records", step_records, had, 0, points::changes},
};

// --- leading ------------------------------------------------------------------------------------------------------------------

// What of the file may change: the header without its hash table's rest, and the records used.
template<class Visit>
void for_pieces(Visit visit) {
    visit(std::uint64_t{0}, std::uint64_t{sizeof(header)});
    for (std::uint32_t p = 0; p < nr_parts; ++p) {
        const std::uint32_t records = part{p} == part::ops                                    ? nr_first_ops
                                      : part{p} == part::takings || part{p} == part::contexts ? 0
                                                                                              : used(part{p}) + 1;
        visit(part_offset(p), std::uint64_t{records} * part_records[p][0]);
    }
}
std::vector<std::byte> contents() {
    std::vector<std::byte> all;
    for_pieces([&](std::uint64_t from, std::uint64_t bytes) {
        const auto *at = reinterpret_cast<const std::byte *>(the_file.base + from);
        all.insert(all.end(), at, at + bytes);
    });
    return all;
}
bool is_as(const std::vector<std::byte> &before) {
    std::size_t done = 0;
    bool same = true;
    for_pieces([&](std::uint64_t from, std::uint64_t bytes) {
        same = same && done + bytes <= before.size() &&
               std::memcmp(reinterpret_cast<const void *>(the_file.base + from), before.data() + done, bytes) == 0;
        done += bytes;
    });
    return same && done == before.size();
}

class led_process {
public:
    explicit led_process(void (*run)()) {
        told->is_done = false;
        told->member = 0;
        pid_ = fork();
        if (pid_ == 0) {
            begin_life(leaf, 0);
            told->account = opened(leaf, had);
            told->other_account = opened(other_leaf, 0);
            told->member = this_member;
            if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0) std::_Exit(77);
            run();
            stop_here();
            for (;;) pause();
        }
        int status = 0;
        if (waitpid(pid_, &status, 0) != pid_ || !WIFSTOPPED(status)) {
            if (WIFEXITED(status) && WEXITSTATUS(status) == 77) std::_Exit(77);
            fail("a process did not come to its first stop");
        }
        member_ = told->member;
    }

    // So many instructions further. False: the operation ended before.
    bool step(std::uint32_t instructions) {
        for (; instructions != 0; --instructions) {
            int status = 0;
            if (ptrace(PTRACE_SINGLESTEP, pid_, 0, 0) != 0 || waitpid(pid_, &status, 0) != pid_ || !WIFSTOPPED(status))
                fail("a process cannot be led on");
            if (WSTOPSIG(status) == SIGSTOP) return false;
            if (WSTOPSIG(status) != SIGTRAP) fail("a process got signal " + std::to_string(WSTOPSIG(status)));
        }
        return true;
    }
    // To after the instruction with which the file changes for the nth time.
    bool step_changes(std::uint32_t changes) {
        for (std::vector<std::byte> before = contents(); changes != 0;) {
            if (!step(1)) return false;
            if (is_as(before)) continue;
            before = contents();
            --changes;
        }
        return true;
    }
    void run_to_end() {
        int status = 0;
        if (ptrace(PTRACE_CONT, pid_, 0, 0) != 0 || waitpid(pid_, &status, 0) != pid_ || !WIFSTOPPED(status) ||
            WSTOPSIG(status) != SIGSTOP)
            fail("a process does not come to its end");
    }
    void kill_and_reap() {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
        member_at(member_).seen_alive.store(0);
        if (!reap(member_)) fail("a dead process is not reaped");
    }
    std::uint32_t member() const { return member_; }

private:
    pid_t pid_;
    std::uint32_t member_;
};

// --- what is asserted ---------------------------------------------------------------------------------------------------------

std::string where; // for what goes wrong

void expect(bool is, const char *what) {
    if (!is) fail(where + ": " + what);
}

void expect_usages(std::uint64_t at_leaf, std::uint64_t at_other) {
    const std::string is = std::to_string(usage_of(leaf)) + " and " + std::to_string(usage_of(other_leaf));
    expect(usage_of(leaf) == at_leaf && usage_of(other_leaf) == at_other, is.c_str());
    expect(usage_of(node_at(leaf).parent) == at_leaf && usage_of(node_at(other_leaf).parent) == at_other &&
               usage_of(top) == at_leaf + at_other,
           "a level above differs");
}

void expect_nothing_left() {
    expect_usages(0, 0);
    for_accounts([](std::uint32_t i, const account &, std::uint32_t owner) {
        expect(owner == this_member, "an account is left");
        expect(charged_of(i) == 0, "an account has something left");
    });
    for (std::uint32_t i = 1; i < used(part::nodes); ++i) {
        const node_state state = node_state_in(node_at(i).identity);
        expect(state == node_state::living || state == node_state::removed || state == node_state::unused,
               "a tenant is left half made");
    }
    for (std::uint32_t i = 0; i < used(part::ops); ++i) expect(op_at(i).owner == 0, "a record of an operation is left");
    for (std::uint32_t i = 1; i < used(part::chunk_owners); ++i) expect(chunk_owner(i) == 0, "a chunk is left");
    expect(head().anomalies == 0, "something was put right");
}

void go_on_oneself(int times) {
    static const std::uint32_t mine = account_open(leaf);
    for (int i = 0; i < times; ++i) {
        expect(ledger_charge(mine, 1000).is == verdict::done, "another one's charge is not made");
        expect(ledger_uncharge(mine, 1000).is == verdict::done, "another one's charge is not given back");
    }
}

// --- one operation ------------------------------------------------------------------------------------------------------------

// One that is dead, and a copy of it that lives and has inherited something; for reap.
struct family {
    pid_t copy = 0;
    std::uint32_t copy_member = 0;

    explicit family(bool is_needed) {
        if (!is_needed) return;
        told->is_done = false;
        const pid_t payer = fork();
        if (payer == 0) {
            begin_life(leaf, 0);
            (void)opened(leaf, had);
            (void)opened(other_leaf, 1);
            (void)chunk_open();
            told->victim = this_member;
            prctl(PR_SET_PDEATHSIG, 0);
            const pid_t child = fork();
            if (child == 0) {
                begin_life(leaf, this_member);
                prctl(PR_SET_PDEATHSIG, 0);
                account_at(opened(leaf, 0)).inherited.store(inherited);
                told->member = this_member;
                told->account = static_cast<std::uint32_t>(getpid());
                told->is_done = true;
            }
            for (;;) pause();
        }
        while (!told->is_done) usleep(50);
        copy = static_cast<pid_t>(told->account.load());
        copy_member = told->member;
        kill(payer, SIGKILL);
        waitpid(payer, nullptr, 0);
        member_at(told->victim).seen_alive.store(0);
    }
    void reap_all() {
        if (copy == 0) return;
        (void)reap(told->victim);
        expect_usages(inherited, 0);
        kill(copy, SIGKILL);
        waitpid(copy, nullptr, 0);
        member_at(copy_member).seen_alive.store(0);
        expect(reap(copy_member), "an heir is not reaped");
    }
};

bool is_reap(const operation_case &c) { return c.run == step_reap; }

void use_what_is_made() {
    const std::uint32_t n = node_make("/a/made").node;
    const std::uint32_t at = n == 0 ? 0 : account_open(n);
    if (at == 0) {
        // It stands amid bringing the tenant back: that is waited for for a moment alone.
        expect(node_make("/a/made").error == -EAGAIN, "a tenant cannot be used");
        return;
    }
    expect(ledger_charge(at, 10).is == verdict::done && ledger_uncharge(at, 10).is == verdict::done, "nor charged");
    account_close(at);
}

// What a late reaper must not touch: the records that were the dead one's, at the same tenants, in use again.
struct reused_records {
    static constexpr std::uint64_t bytes = 777;
    std::uint32_t at[2] = {0, 0};

    void use() {
        at[0] = account_open(leaf);
        at[1] = account_open(other_leaf);
        for (std::uint32_t one : at)
            expect(ledger_charge(one, bytes).is == verdict::done, "a record cannot be used again");
    }
    void give_back() {
        for (std::uint32_t one : at) {
            if (one == 0) continue;
            expect(charged_of(one) == bytes && high_of(account_at(one).owner) == this_tag,
                   "a late reaper took what is another's");
            expect(ledger_uncharge(one, bytes).is == verdict::done, "what was charged cannot be given back");
            account_close(one);
        }
    }
};

// False: the operation has fewer instructions.
bool cut_off(const operation_case &c, const char *how, std::uint32_t at) {
    where = std::string(c.name) + ", " + how + ", instruction " + std::to_string(at);
    family members(is_reap(c));
    led_process p(c.run);
    const bool is_inside = c.where == points::changes ? p.step_changes(at) : p.step(at);
    const std::string_view way = how;
    reused_records records_again;
    if (way == "helped") go_on_oneself(1);
    if (way != "killed" && c.run == step_records) use_what_is_made();
    if (way == "late" && is_inside) {
        if (is_reap(c)) {
            (void)reap(told->victim);
            expect_usages(had + inherited, 0);
            go_on_oneself(2);
            records_again.use();
        } else {
            go_on_oneself(20);
        }
        p.run_to_end();
        expect(told->is_done, "it was not done");
        records_again.give_back();
        expect_usages(c.leaf_after, c.other_after);
    }
    p.kill_and_reap();
    members.reap_all();
    if (c.run == step_records) {
        use_what_is_made();
        expect(node_remove(node_open("/a/made").node) == 0, "what was made cannot be removed");
    }
    expect_nothing_left();
    return is_inside;
}

// The first instruction at which a charge is under way.
std::uint32_t first_under_way() {
    led_process p(step_charge);
    std::uint32_t at = 0;
    while (ledger_now().is_quiet)
        if (++at; !p.step(1)) fail("a charge was never under way");
    p.kill_and_reap();
    return at;
}

void step_many_charges() {
    const std::uint32_t at = told->account;
    stop_here();
    told->is_done = ledger_charge(at, asked).is == verdict::done;
    for (int i = 0; i < 50; ++i)
        if (ledger_charge(at, asked).is != verdict::done || ledger_uncharge(at, asked).is != verdict::done)
            std::_Exit(5);
}

bool help_late(std::uint32_t under_way_at, std::uint32_t at) {
    where = "charge, helper, instruction " + std::to_string(at);
    led_process helper(step_charge); // first, since what it does before would help already
    led_process first(step_many_charges);
    expect(first.step(under_way_at) && !ledger_now().is_quiet, "a charge is not under way");
    const bool is_inside = helper.step(at);
    first.run_to_end();
    if (is_inside) helper.run_to_end();
    expect(told->is_done, "the helper's charge was not made");
    expect_usages(2 * (had + asked), 0);
    first.kill_and_reap();
    expect_usages(had + asked, 0);
    helper.kill_and_reap();
    expect_nothing_left();
    return is_inside;
}

// In memory where there is a place for it, as hierarchies are.
std::filesystem::path scratch_place() {
    const std::filesystem::path memory = "/dev/shm";
    return std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path();
}

void step_two_charges() {
    const std::uint32_t at = told->account, other = told->other_account;
    stop_here();
    const bool is_done = ledger_charge(at, asked).is == verdict::done;
    told->is_done = ledger_charge(other, asked + 1).is == verdict::done && is_done;
}

bool mislead(std::uint32_t under_way_at, std::uint32_t at) {
    where = "charge, misled, instruction " + std::to_string(at);
    led_process helper(step_charge); // first, since what it does before would help already
    led_process first(step_two_charges);
    expect(first.step(under_way_at) && !ledger_now().is_quiet, "a charge is not under way");
    const operation &op = op_at(head().current % nr_ops);
    const bool is_inside = helper.step(at);
    while (op.bytes != asked + 1) expect(first.step(1), "a second charge is not written");
    if (is_inside) helper.run_to_end();
    expect_usages(2 * (had + asked), 0);
    first.run_to_end();
    expect(told->is_done, "a charge was not made");
    expect_usages(2 * (had + asked), asked + 1);
    first.kill_and_reap();
    helper.kill_and_reap();
    expect_nothing_left();
    return is_inside;
}

void make_tree() {
    top = root_node;
    leaf = node_make("/a/x").node;
    other_leaf = node_make("/b/y").node;
    for (std::uint32_t n : {top, leaf, other_leaf, node_at(leaf).parent, node_at(other_leaf).parent})
        node_at(n).set.max.store(std::uint64_t{1} << 20);
}

} // namespace

int main(int argc, char **argv) {
    std::uint32_t stride = 1, first = static_cast<std::uint32_t>(getpid());
    std::vector<std::string> wanted;
    for (int i = 1; i < argc; ++i) {
        if (std::strcmp(argv[i], "--stride") == 0 && i + 1 < argc)
            stride = static_cast<std::uint32_t>(std::strtoul(argv[++i], nullptr, 10));
        else if (std::strcmp(argv[i], "--first") == 0 && i + 1 < argc)
            first = static_cast<std::uint32_t>(std::strtoul(argv[++i], nullptr, 10));
        else
            wanted.emplace_back(argv[i]);
    }
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    std::string folder = scratch_place() / "allot-stepped-XXXXXX";
    if (stride == 0 || mkdtemp(folder.data()) == nullptr) return 2;
    told = static_cast<told_words *>(
        mmap(nullptr, sizeof(told_words), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    if (told == MAP_FAILED || attach(folder.c_str(), "stepped", if_missing::make).error != attach_error::none) return 2;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    make_tree();
    if (!member_join(top, 0)) return 2;
    go_on_oneself(1);
    for (const operation_case &c : cases) {
        bool is_wanted = wanted.empty();
        for (const std::string &name : wanted) is_wanted |= name == c.name;
        if (!is_wanted) continue;
        const std::uint32_t by = stride;
        for (const char *how : {"killed", "helped", "late"}) {
            std::uint32_t at = first % by, nr_points = 0;
            for (; cut_off(c, how, at); at += by) ++nr_points;
            std::printf("%-8s %-6s exact at %u points of %u %s\n", c.name, how, nr_points, at,
                        c.where == points::changes ? "changes" : "instructions");
        }
        if (c.run != step_charge) continue;
        const std::uint32_t under_way_at = first_under_way();
        std::uint32_t at = first % by, nr_points = 0;
        for (; help_late(under_way_at, at); at += by) ++nr_points;
        std::printf("%-8s %-6s exact at %u points of %u instructions\n", c.name, "helper", nr_points, at);
        at = first % by, nr_points = 0;
        for (; mislead(under_way_at, at); at += by) ++nr_points;
        std::printf("%-8s %-6s exact at %u points of %u instructions\n", c.name, "misled", nr_points, at);
    }
    std::filesystem::remove_all(folder);
    return 0;
}
