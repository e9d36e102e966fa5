#define BOOST_TEST_MODULE mutex
#include <boost/test/unit_test.hpp>

#include "accounting/base/mutex.hpp"

#include "accounting/base/os.hpp"
#include "tests/support/dying.hpp"

#include <sys/mman.h>

#include <new>
#include <thread>
#include <vector>

using namespace allot;

BOOST_AUTO_TEST_CASE(what_it_protects_is_seen_whole_by_every_thread) {
    lock_word word{0};
    long counter = 0; // plain: a data race if the lock does not exclude
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 20000; ++i) {
                lock_scope own(word, lock_rank::context);
                ++counter;
            }
        });
    for (std::thread &t : threads) t.join();
    BOOST_TEST(counter == 160000);
    BOOST_TEST(word.load() == 0u);
}

// Sleepers must be woken: with more threads than processors and a long hold, everyone sleeps at some time.
BOOST_AUTO_TEST_CASE(who_sleeps_on_it_is_woken) {
    lock_word word{0};
    auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 10; ++i) {
                lock_scope own(word, lock_rank::registry);
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
        });
    for (std::thread &t : threads) t.join();
    // 40 ms of holding; a lost wake-up would cost the 100 ms after which sleepers look by themselves, each time.
    BOOST_TEST((std::chrono::steady_clock::now() - start < std::chrono::seconds(2)));
}

BOOST_AUTO_TEST_CASE(it_works_between_processes) {
    void *shared = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    auto *word = new (shared) lock_word{0};
    auto *counter = new (static_cast<char *>(shared) + 64) long{0};
    auto count = [&] {
        for (int i = 0; i < 20000; ++i) {
            lock_scope own(*word, lock_rank::context);
            ++*counter;
        }
    };
    pid_t child = fork();
    if (child == 0) {
        os_child_start();
        count();
        _exit(0);
    }
    count();
    waitpid(child, nullptr, 0);
    BOOST_TEST(*counter == 40000);
    munmap(shared, 4096);
}

BOOST_AUTO_TEST_CASE(it_knows_its_holder_and_a_thread_knows_that_it_holds) {
    lock_word word{0};
    BOOST_TEST(!holds_locks());
    lock_take(word, lock_rank::context);
    BOOST_TEST(holds_locks());
    BOOST_TEST(lock_is_mine(word));
    std::thread([&] {
        BOOST_TEST(!holds_locks());
        BOOST_TEST(!lock_is_mine(word));
        BOOST_TEST(!lock_try(word, lock_rank::context));
        BOOST_TEST(!lock_try_for_a_while(word, lock_rank::context));
        BOOST_TEST(!holds_locks());
    }).join();
    lock_give(word, lock_rank::context);
    BOOST_TEST(!holds_locks());
    BOOST_TEST(lock_try(word, lock_rank::context));
    lock_give(word, lock_rank::context);
}

#ifndef NDEBUG
BOOST_AUTO_TEST_CASE(the_wrong_order_of_two_locks_is_noticed) {
    death d = death_of([] {
        lock_word context{0}, registry{0};
        lock_scope first(context, lock_rank::context);
        lock_scope second(registry, lock_rank::registry);
    });
    BOOST_TEST(d.signal == SIGABRT);
    BOOST_TEST(d.message.find("in the order of lock_rank") != std::string::npos, d.message);
}

BOOST_AUTO_TEST_CASE(two_contexts_without_the_drain_lock_are_noticed) {
    death d = death_of([] {
        lock_word one{0}, two{0};
        lock_scope first(one, lock_rank::context);
        lock_scope second(two, lock_rank::context);
    });
    BOOST_TEST(d.signal == SIGABRT);
}
#endif
