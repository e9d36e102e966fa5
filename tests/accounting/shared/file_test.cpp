#define BOOST_TEST_MODULE shared_file
#include <boost/test/unit_test.hpp>

#include "tests/support/child.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/shared_tree.hpp"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <vector>

using namespace allot;
using namespace allot::shared;

namespace {

struct place : scratch_folder {
    ~place() { detach(); }
    attach_error attach_here(if_missing m = if_missing::fail) { return attach(folder.c_str(), "h", m).error; }
    attach_error copy_here() {
        detach();
        return attach_copy(folder.c_str(), "h").error;
    }
    std::string file() { return (folder / "h" / file_name).string(); }

    template<class T>
    void overwrite(std::size_t offset, T value) {
        const int fd = open(file().c_str(), O_WRONLY);
        BOOST_TEST_REQUIRE(pwrite(fd, &value, sizeof value, static_cast<off_t>(offset)) ==
                           static_cast<ssize_t>(sizeof value));
        close(fd);
    }
};

int open_descriptors() {
    return static_cast<int>(
        std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator()));
}

bool is_mapped(const std::string &name) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
        if (line.find(name) != std::string::npos) return true;
    return false;
}

std::uint64_t room(part p) { return part_records[static_cast<std::uint32_t>(p)][1]; }

} // namespace

BOOST_FIXTURE_TEST_CASE(a_file_is_made_whole_private_and_sparse_and_found_again, place) {
    BOOST_TEST((attach_here() == attach_error::not_there));
    const int before = open_descriptors();
    attached_file first = attach(folder.c_str(), "h", if_missing::make);
    BOOST_TEST((first.error == attach_error::none && first.is_new));
    BOOST_TEST(first.major == file_major);
    struct stat s;
    BOOST_TEST_REQUIRE(stat(file().c_str(), &s) == 0);
    BOOST_TEST((s.st_mode & 07777) == 0600u);
    BOOST_TEST(static_cast<std::uint64_t>(s.st_size) == file_bytes);
    BOOST_TEST(s.st_blocks * 512 < 1 << 20);
    BOOST_TEST_REQUIRE(stat((folder / "h").c_str(), &s) == 0);
    BOOST_TEST((s.st_mode & 07777) == 0700u);
    BOOST_TEST(open_descriptors() == before); // nothing that a program could close
    node_at(root_node).set.max.store(1234);
    detach();
    BOOST_TEST(!is_mapped(file()));
    attached_file second = attach(folder.c_str(), "h", if_missing::make);
    BOOST_TEST((second.error == attach_error::none && !second.is_new));
    BOOST_TEST(node_at(root_node).set.max.load() == 1234u);
    BOOST_TEST(
        std::distance(std::filesystem::directory_iterator(folder / "h"), std::filesystem::directory_iterator()) == 1);
}

BOOST_FIXTURE_TEST_CASE(makers_at_once_get_one_file, place) {
    constexpr int makers = 16;
    auto *is_new =
        static_cast<std::atomic<int> *>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    std::vector<pid_t> children;
    for (int i = 0; i < makers; ++i) {
        children.push_back(fork());
        if (children.back() != 0) continue;
        const attached_file f = attach(folder.c_str(), "h", if_missing::make);
        if (f.is_new) is_new->fetch_add(1);
        if (f.error == attach_error::none) node_at(root_node).events[0].fetch_add(1);
        _exit(f.error == attach_error::none ? 0 : 1);
    }
    for (pid_t child : children) {
        int status;
        waitpid(child, &status, 0);
        BOOST_TEST(status == 0);
    }
    BOOST_TEST(is_new->load() == 1);
    BOOST_TEST_REQUIRE((attach_here() == attach_error::none));
    BOOST_TEST(node_at(root_node).events[0].load() == static_cast<std::uint64_t>(makers));
}

BOOST_FIXTURE_TEST_CASE(what_is_not_its_file_is_refused_with_the_reason, place) {
    BOOST_TEST_REQUIRE((attach_here(if_missing::make) == attach_error::none));
    detach();
    overwrite(offsetof(header, major), file_major + 1);
    attached_file f = attach(folder.c_str(), "h", if_missing::make);
    BOOST_TEST((f.error == attach_error::other_version));
    BOOST_TEST(f.major == file_major + 1);
    overwrite(offsetof(header, major), file_major);
    overwrite(offsetof(header, endianness), std::uint32_t{0x04030201});
    BOOST_TEST((attach_here() == attach_error::other_layout));
    overwrite(offsetof(header, endianness), file_endianness);
    overwrite(offsetof(header, parts) + offsetof(part_place, record_bytes), std::uint32_t{72});
    BOOST_TEST((attach_here() == attach_error::other_layout));
    overwrite(offsetof(header, parts) + offsetof(part_place, record_bytes), std::uint32_t{sizeof(operation)});
    overwrite(offsetof(header, ready), std::uint32_t{0});
    BOOST_TEST((attach_here() == attach_error::not_a_file));
    overwrite(offsetof(header, ready), std::uint32_t{1});
    BOOST_TEST((attach_here() == attach_error::none));
    detach();
    overwrite(0, 'x');
    BOOST_TEST((attach_here() == attach_error::not_a_file));
    overwrite(0, file_magic[0]);
    BOOST_TEST_REQUIRE(truncate(file().c_str(), static_cast<off_t>(file_bytes - 1)) == 0);
    BOOST_TEST((attach_here() == attach_error::not_a_file));
    BOOST_TEST_REQUIRE(truncate(file().c_str(), 100) == 0);
    BOOST_TEST((attach_here() == attach_error::not_a_file));
    std::filesystem::rename(file(), folder / "elsewhere");
    std::filesystem::create_symlink(folder / "elsewhere", file());
    BOOST_TEST((attach_here() == attach_error::not_there)); // links are not followed
    std::filesystem::remove(file());
    std::filesystem::create_directory(file());
    BOOST_TEST((attach_here() != attach_error::none));
    std::filesystem::remove(file());
    BOOST_TEST_REQUIRE(mkfifo(file().c_str(), 0600) == 0);
    BOOST_TEST((attach_here() == attach_error::not_ours));
    BOOST_TEST(!is_attached());
    BOOST_TEST((attach("", "h", if_missing::make).error == attach_error::not_there));
    BOOST_TEST((attach(std::string(600, 'a').c_str(), "h", if_missing::make).error == attach_error::not_there));
    for (auto e = attach_error::none; e <= attach_error::no_memory; e = attach_error{static_cast<std::uint32_t>(e) + 1})
        BOOST_TEST(std::strlen(attach_error_text(e)) > 0u);
}

BOOST_FIXTURE_TEST_CASE(a_file_of_an_earlier_boot_is_replaced_and_only_where_one_may_be_made, place) {
    BOOST_TEST_REQUIRE((attach_here(if_missing::make) == attach_error::none));
    BOOST_TEST(head().boot == boot_number());
    node_at(root_node).events[0].store(7);
    detach();
    overwrite(offsetof(header, boot), std::uint64_t{12345});
    BOOST_TEST((attach_here() == attach_error::not_there));
    attached_file f = attach(folder.c_str(), "h", if_missing::make);
    BOOST_TEST((f.error == attach_error::none && f.is_new));
    BOOST_TEST(node_at(root_node).events[0].load() == 0u);
    BOOST_TEST(
        std::distance(std::filesystem::directory_iterator(folder / "h"), std::filesystem::directory_iterator()) == 1);
}

BOOST_FIXTURE_TEST_CASE(who_replace_one_of_an_earlier_boot_at_once_get_one_file, place) {
    for (int round = 0; round < 10; ++round) {
        BOOST_TEST_REQUIRE((attach_here(if_missing::make) == attach_error::none));
        detach();
        overwrite(offsetof(header, boot), std::uint64_t{12345});
        std::vector<pid_t> children;
        for (int i = 0; i < 8; ++i) {
            children.push_back(fork());
            if (children.back() != 0) continue;
            attached_file f{};
            // Who does not get the lock tries again, and gives up after a while.
            do f = attach(folder.c_str(), "h", if_missing::make);
            while (f.error == attach_error::not_there);
            node_at(root_node).events[0].fetch_add(1);
            _exit(f.error == attach_error::none ? 0 : 1);
        }
        for (pid_t child : children) {
            int status;
            waitpid(child, &status, 0);
            BOOST_TEST(status == 0);
        }
        BOOST_TEST_REQUIRE((attach_here() == attach_error::none));
        BOOST_TEST(node_at(root_node).events[0].load() == 8u);
        detach();
        std::filesystem::remove_all(folder / "h");
    }
}

// MADV_POPULATE_WRITE is answered as by kernels that do not know it.
BOOST_FIXTURE_TEST_CASE(without_a_call_that_has_memory_there_the_file_is_asked_again_by_its_path, place) {
    const child_end end = in_child([&] {
        sock_filter code[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 23, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        const sock_fprog program{sizeof code / sizeof code[0], code};
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) return 0;
        if (attach_here(if_missing::make) != attach_error::none) return 1;
        struct stat before, after;
        if (stat(file().c_str(), &before) != 0 || !reach(part::accounts, 40000) || stat(file().c_str(), &after) != 0)
            return 2;
        if (after.st_blocks <= before.st_blocks) return 3;
        // The path leads to another file by now.
        std::filesystem::rename(file(), folder / "elsewhere");
        std::ofstream(file()) << "not it";
        return reach(part::accounts, 50000) ? 4 : 0;
    });
    BOOST_TEST(end.exited_with(0));
}

BOOST_FIXTURE_TEST_CASE(without_addresses_it_fails_and_leaves_nothing, place,
                        *boost::unit_test::precondition(address_space_can_be_limited)) {
    const child_end end = in_child([&] {
        rlimit few{64 << 20, 64 << 20};
        setrlimit(RLIMIT_AS, &few);
        const bool none = attach_here(if_missing::make) == attach_error::no_memory && !is_attached();
        return none && !is_mapped(folder.string()) && std::filesystem::is_empty(folder / "h") ? 0 : 1;
    });
    BOOST_TEST(end.exited_with(0));
}

BOOST_FIXTURE_TEST_CASE(where_files_may_not_grow_it_fails_without_a_signal, place) {
    const child_end end = in_child([&] {
        rlimit small{1 << 20, 1 << 20};
        setrlimit(RLIMIT_FSIZE, &small);
        return attach_here(if_missing::make) == attach_error::no_memory ? 0 : 1;
    });
    BOOST_TEST(end.exited_with(0));
}

// Where mounts of one's own can be made (user namespaces): a file system of 1 MiB.
BOOST_AUTO_TEST_CASE(a_full_file_system_fails_a_growth_and_raises_no_signal) {
    const scratch_folder folder;
    const std::string command = "unshare -Urm true 2>/dev/null || unshare -m true 2>/dev/null";
    if (std::system(command.c_str()) != 0) return;
    const child_end end = in_child([&] {
        if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return 0;
        if (system(("mount -t tmpfs -o size=1M none " + folder.folder.string() + " 2>/dev/null").c_str()) != 0)
            return 0;
        if (attach(folder.folder.c_str(), "h", if_missing::make).error != attach_error::none) return 1;
        std::uint32_t last = 0, taken = 0;
        while (const std::uint32_t index = take_fresh(part::accounts)) {
            account_at(index).peak.store(1); // touched, without a signal
            last = index;
            ++taken;
        }
        const bool is_full = last + 1 < room(part::accounts) && taken == last;
        if (!is_full || reach(part::accounts, last + 1000)) return 2;
        // A second process finds the same end.
        return used(part::accounts) == last + 1 && take_fresh(part::accounts) == 0 ? 0 : 3;
    });
    BOOST_TEST(end.exited_with(0));
}

BOOST_FIXTURE_TEST_CASE(fresh_records_are_given_out_once_and_end_with_the_table, place) {
    BOOST_TEST_REQUIRE((attach_here(if_missing::make) == attach_error::none));
    BOOST_TEST(take_fresh(part::nodes) == root_node + 1);
    std::uint32_t expected = 1, index;
    while ((index = take_fresh(part::members)) != 0) BOOST_TEST_REQUIRE(index == expected++);
    BOOST_TEST(expected == room(part::members));
    BOOST_TEST(!reach(part::members, nr_members));
    BOOST_TEST(reach(part::contexts, nr_contexts - 1));
}

BOOST_FIXTURE_TEST_CASE(a_node_is_below_itself_and_its_ancestors, shared_tree) {
    const std::uint32_t a = made("/a"), b = made("/a/b"), c = made("/c");
    BOOST_TEST(is_node_below(b, b));
    BOOST_TEST(is_node_below(b, a));
    BOOST_TEST(is_node_below(b, root_node));
    BOOST_TEST(!is_node_below(a, b));
    BOOST_TEST(!is_node_below(c, a));
    BOOST_TEST(!is_node_below(0, a));
}

// --- copies ---

BOOST_FIXTURE_TEST_CASE(a_copy_is_of_one_moment_and_ones_own, place) {
    BOOST_TEST_REQUIRE((attach_here(if_missing::make) == attach_error::none));
    const std::uint32_t n = node_make("/a/b").node;
    BOOST_TEST_REQUIRE(member_join(n, 0));
    const std::uint32_t at = account_open(n);
    BOOST_TEST((ledger_charge(at, 4096).is == verdict::done));
    BOOST_TEST((copy_here() == attach_error::none));
    BOOST_TEST(node_open("/a/b").node == n);
    BOOST_TEST(node_at(root_node).usage.value.load() == 4096u);
    BOOST_TEST(account_at(at).charged.value.load() == 4096u);
    BOOST_TEST(member_at(this_member).name[0] != '\0');
    node_at(root_node).usage.value.store(1);
    BOOST_TEST((copy_here() == attach_error::none));
    BOOST_TEST(node_at(root_node).usage.value.load() == 4096u);
    this_member = this_tag = 0;
}

BOOST_FIXTURE_TEST_CASE(nothing_leads_out_of_a_copy_of_a_damaged_file, place) {
    BOOST_TEST_REQUIRE((attach_here(if_missing::make) == attach_error::none));
    const std::uint32_t a = node_make("/a").node, b = node_make("/a/b").node;
    BOOST_TEST_REQUIRE(member_join(b, 0));
    const std::uint32_t mine = this_member, at = account_open(b);
    node_at(a).parent = b; // a loop
    node_at(b).hash_next = 4000000000u;
    std::memset(node_at(b).name, 'x', sizeof node_at(b).name);
    std::memset(member_at(mine).name, 'y', member_name_bytes);
    std::memset(member_at(mine).executable, 'z', member_path_bytes);
    member_at(mine).copy_of.store(77777777);
    account_at(at).owner.store(~std::uint64_t{0});
    for (auto &end : head().used) end.store(4000000000u);
    for (auto &bucket : head().name_buckets) bucket.store(4000000000u);
    BOOST_TEST((copy_here() == attach_error::none));
    BOOST_TEST(used(part::nodes) == nr_nodes);
    BOOST_TEST(node_at(a).parent < a);
    BOOST_TEST(std::strlen(node_at(b).name) <= ALLOT_TENANT_NAME_MAX);
    BOOST_TEST(std::strlen(member_at(mine).name) < member_name_bytes);
    BOOST_TEST(std::strlen(member_at(mine).executable) < member_path_bytes);
    BOOST_TEST(member_at(mine).copy_of.load() == 0u);
    BOOST_TEST(account_at(at).owner.load() == 0u);
    BOOST_TEST(node_open("/a/b").node == 0u);
    this_member = this_tag = 0;
}

BOOST_FIXTURE_TEST_CASE(random_bytes_are_copied_without_harm, place) {
    for (unsigned seed = 1; seed <= 4; ++seed) {
        std::filesystem::remove_all(folder / "h");
        BOOST_TEST_REQUIRE((attach_here(if_missing::make) == attach_error::none));
        (void)node_make("/a/b/c");
        std::uint64_t random = seed * 0x9e3779b97f4a7c15u;
        auto scribble = [&](std::uintptr_t from, std::size_t bytes) {
            for (std::size_t i = 0; i < bytes; i += 8) {
                random ^= random << 13, random ^= random >> 7, random ^= random << 17;
                std::memcpy(reinterpret_cast<void *>(from + i), &random, sizeof random);
            }
        };
        scribble(the_file.base + offsetof(header, used), sizeof(header) - offsetof(header, used));
        scribble(the_file.base + part_offset(static_cast<std::uint32_t>(part::nodes)), 65536);
        BOOST_TEST((copy_here() == attach_error::none));
        char path[4096];
        for (std::uint32_t i = next_living(1); i != 0 && i < 4000; i = next_living(i + 1)) {
            (void)write_node_path(i, path, sizeof path);
            BOOST_TEST(is_node_below(i, root_node));
        }
        (void)node_open("/a/b/c");
        detach();
    }
}

BOOST_FIXTURE_TEST_CASE(a_file_that_is_cut_short_is_refused_as_a_copy_too, place) {
    BOOST_TEST_REQUIRE((attach_here(if_missing::make) == attach_error::none));
    BOOST_TEST_REQUIRE(truncate(file().c_str(), 70000) == 0);
    BOOST_TEST((copy_here() == attach_error::not_a_file));
    BOOST_TEST(!is_attached());
    std::filesystem::remove(file());
    BOOST_TEST((copy_here() == attach_error::not_there));
}
