// A shared hierarchy of one case, in a folder of its own, and other processes in it.
#pragma once

#include "accounting/base/os.hpp"
#include "accounting/shared/accounts.hpp"
#include "accounting/shared/file.hpp"
#include "accounting/shared/ledger.hpp"
#include "accounting/shared/members.hpp"
#include "accounting/shared/nodes.hpp"
#include "tests/support/scratch.hpp"

#include <boost/test/unit_test.hpp>

#include <csignal>
#include <cstdint>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace allot::shared {

// Attached, and joined at the root.
struct shared_tree : scratch_folder {
    shared_tree() {
        BOOST_TEST_REQUIRE((attach(folder.c_str(), "tree", if_missing::make).error == attach_error::none));
        this_member = this_tag = 0;
        BOOST_TEST_REQUIRE(member_join(root_node, 0));
    }
    ~shared_tree() {
        detach();
        this_member = this_tag = 0;
    }

    static std::uint32_t made(const char *path, std::uint64_t max = unlimited) {
        const std::uint32_t n = node_make(path).node;
        BOOST_TEST_REQUIRE(n != 0u);
        node_at(n).set.max.store(max);
        return n;
    }
    static std::uint64_t usage(std::uint32_t n) { return node_at(n).usage.value.load(); }
    static std::uint64_t charged(std::uint32_t at) { return account_at(at).charged.value.load(); }
    static bool is_done(outcome o) { return o.is == verdict::done; }

    static member_state state_of(std::uint32_t m) { return member_state_in(member_at(m).identity.load()); }
    static void look_again_at(std::uint32_t m) { member_at(m).seen_alive.store(0); }
    static std::uint32_t records_of(std::uint32_t m) {
        std::uint32_t found = 0;
        for_accounts([&](std::uint32_t, const account &, std::uint32_t owner) { found += owner == m; });
        for_chunks_of(m, [&](std::uint32_t) { ++found; });
        for (std::uint32_t i = 0; i < used(part::ops); ++i) found += member_of_tag(high_of(op_at(i).owner.load())) == m;
        return found;
    }
};

// A child that joins, does something, and then stands there until it is killed.
class other_process {
public:
    struct words {
        std::atomic<std::uint32_t> member, a, b, is_ready;
        std::atomic<std::uint32_t> nr_children; // that it has made
    };

    template<class Body>
    other_process(std::uint32_t node, Body body, std::uint32_t copy_of = 0) {
        told = static_cast<words *>(
            mmap(nullptr, sizeof(words), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
        BOOST_TEST_REQUIRE(told != MAP_FAILED);
        pid = fork();
        if (pid == 0) {
            join(node, copy_of);
            told->member = this_member;
            body(*told);
            told->is_ready = 1;
            for (;;) pause();
        }
        while (told->is_ready == 0) usleep(50);
    }
    ~other_process() {
        end();
        munmap(told, sizeof(words));
    }
    other_process(const other_process &) = delete;
    other_process &operator=(const other_process &) = delete;

    // In a child, before anything else.
    static void join(std::uint32_t node, std::uint32_t copy_of) {
        os_child_start();
        this_member = this_tag = 0;
        signal(SIGABRT, SIG_DFL);
        alarm(60);
        if (!member_join(node, copy_of)) _exit(1);
    }

    void end() {
        if (pid == 0) return;
        kill(pid, SIGKILL);
        waitpid(pid, nullptr, 0);
        pid = 0;
        shared_tree::look_again_at(told->member);
    }

    words *told;
    pid_t pid;
};

} // namespace allot::shared
