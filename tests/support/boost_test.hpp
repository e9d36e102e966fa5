// What every unit test includes, compiled once for all of them (tests/meson.build).
#ifndef ALLOT_TESTS_BOOST_TEST_HPP // the compiler warns of #pragma once where a header is compiled by itself
#define ALLOT_TESTS_BOOST_TEST_HPP

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#endif
