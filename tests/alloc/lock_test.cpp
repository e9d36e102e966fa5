#define BOOST_TEST_MODULE lock
#include <boost/test/unit_test.hpp>

#include "alloc/lock.hpp"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

using namespace allot;

BOOST_AUTO_TEST_CASE(no_two_threads_are_inside_at_once) {
    process_lock lock;
    std::uint64_t counter = 0; // plain: only the lock keeps the sum right
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 20000; ++i) {
                lock_guard guard(lock);
                counter = counter + 1;
            }
        });
    for (std::thread &t : threads) t.join();
    BOOST_TEST(counter == 80000u);
}

BOOST_AUTO_TEST_CASE(whoever_waits_asleep_is_woken) {
    process_lock lock;
    lock.lock();
    std::atomic<int> inside{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
        threads.emplace_back([&] {
            lock_guard guard(lock);
            inside++;
        });
    std::this_thread::sleep_for(std::chrono::milliseconds(50)); // long past the spinning
    BOOST_TEST(inside == 0);
    lock.unlock();
    for (std::thread &t : threads) t.join();
    BOOST_TEST(inside == 3);
}

BOOST_AUTO_TEST_CASE(a_held_lock_is_not_taken_and_one_made_anew_is_free) {
    process_lock lock;
    BOOST_TEST(lock.try_lock());
    BOOST_TEST(!lock.try_lock());
    lock.make_anew();
    BOOST_TEST(lock.try_lock());
}
