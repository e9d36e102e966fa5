#define BOOST_TEST_MODULE shared_join
#include <boost/test/unit_test.hpp>

#include "accounting/shared/nodes.hpp"
#include "tests/support/actor.hpp"
#include "tests/support/dying.hpp"

#include <fcntl.h>

using namespace allot;
using act = actor::act;

BOOST_AUTO_TEST_CASE(who_makes_a_tenant_sets_it_up_and_later_ones_leave_it_alone) {
    stage s;
    actor first(s, "/t", "1M"), second(s, "/t", "2M"), third(s, "/v", "3M");
    BOOST_TEST(shared::node_at(s.node("/t")).set.max.load() == 1u << 20);
    BOOST_TEST(shared::node_at(s.node("/v")).set.max.load() == 3u << 20);
}

BOOST_AUTO_TEST_CASE(where_a_process_cannot_join_its_limits_hold_for_it_alone_and_it_says_so_once) {
    hierarchy h;
    std::filesystem::create_directories(h.path() + "/h");
    const int foreign = open((h.path() + "/h/hierarchy").c_str(), O_CREAT | O_WRONLY, 0600);
    BOOST_TEST_REQUIRE(write(foreign, "what is this", 12) == 12);
    close(foreign);
    death d = death_of([&] {
        setenv("ALLOT_DIR", h.path().c_str(), 1);
        setenv("ALLOT_HIERARCHY", "h", 1);
        setenv("ALLOT_MEMORY_MAX", "1M", 1);
        if (!accounting_start() || shared::is_attached()) _exit(1);
        context *c = context_open(obj_cgroup_of(tenant_default()));
        long got = 0;
        while (got < 2000 && (context_charge(*c, net_of(1024, 1)) || context_charge_slow(c, net_of(1024, 1)))) ++got;
        _exit(got == 1024 && verify().differences == 0 ? 0 : 2);
    });
    BOOST_TEST((d.signal == 0 && d.status == 0), d.status);
    BOOST_TEST(d.message.find("its limits hold for it alone") != std::string::npos, d.message);
    BOOST_TEST(d.message.find('\n') + 1 == d.message.size(), d.message);
}

// Its own tree, with the limits that held.
BOOST_AUTO_TEST_CASE(a_copy_that_finds_no_room_goes_on_alone) {
    stage s;
    actor parent(s, "/t", "1M");
    BOOST_TEST(parent.take(1024, 300) == 300);
    s.look();
    // Every record is somebody's who lives: this process's.
    const std::uint32_t end = shared::nr_members;
    while (shared::used(shared::part::members) < end && shared::take_fresh(shared::part::members) != 0) continue;
    const std::uint64_t mine =
        shared::identity_word(os_pid(), 1, static_cast<std::uint8_t>(shared::member_state::running));
    for (std::uint32_t m = 2; m < end; ++m) {
        shared::member_at(m).identity.store(mine);
        shared::member_at(m).seen_alive.store(~std::uint64_t{0} >> 1);
    }
    parent.tell(act::fork_child);
    (void)parent.answer();
    (void)parent.answer();
    kill(parent.pid(), SIGKILL);
    (void)parent.wait();
    BOOST_TEST(parent.take(1024, 2000) == 1024); // the child: nothing of its parent's counts
    BOOST_TEST(parent.ask(act::verify) == 0);
    parent.tell(act::exit, 0);
}

BOOST_AUTO_TEST_CASE(who_begins_gives_back_what_the_dead_held) {
    stage s;
    {
        actor dead(s, "/t", "max");
        BOOST_TEST(dead.take(1024, 1000) == 1000);
    }
    BOOST_TEST(s.usage("/t") >= 1000u * 1024);
    actor fresh(s, "/t", "max");
    BOOST_TEST(s.usage("/t") < 1000u * 1024);
}
