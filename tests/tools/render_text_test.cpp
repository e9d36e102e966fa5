#define BOOST_TEST_MODULE render_text
#include <boost/test/unit_test.hpp>

#include "accounting/base/units.hpp"
#include "tests/tools/example_run.hpp"
#include "tools/render_text.hpp"

#include <algorithm>
#include <string>

using namespace allot;

BOOST_AUTO_TEST_CASE(the_report_is_this) {
    BOOST_TEST(render_text(example_run()) == "allot: sh -c work was ended by signal 9 (SIGKILL)\n"
                                             "tenant               current      peak       max   refused\n"
                                             "  /                     1.0K     64.0M       64M         7\n"
                                             "    web                    3         4     12.1G         0\n"
                                             "process                           peak\n"
                                             "  sh (4, ended)                  64.0M\n"
                                             "  work (5, exited)                4.0K\n");
}

BOOST_AUTO_TEST_CASE(of_many_processes_the_oldest_are_shown_and_the_rest_is_counted) {
    run_figures run = example_run();
    run.processes.resize(processes_shown + 7, run.processes[1]);
    const std::string text = render_text(run);
    BOOST_TEST(text.ends_with("\n  and 7 more\n"));
    BOOST_TEST(std::count(text.begin(), text.end(), '\n') == static_cast<long>(processes_shown) + 6);
}

BOOST_AUTO_TEST_CASE(without_a_process_it_says_where_to_look) {
    run_figures run;
    run.command = {"static-program", "-x"};
    run.status = 3;
    BOOST_TEST(render_text(run) ==
               "allot: static-program -x exited with status 3\n"
               "allot: no process was counted; allot doctor COMMAND says why a program cannot be\n");
}

BOOST_AUTO_TEST_CASE(what_was_mapped_uncounted_is_told_where_there_was_any) {
    run_figures run = example_run();
    run.processes[1].uncounted = 4096;
    run.processes[1].uncounted_peak = 3 << 20;
    BOOST_TEST(render_text(run).find("    mapped and not counted: 4.0K, at most 3.0M\n") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_name_cannot_steer_the_terminal) {
    run_figures run = example_run();
    run.tenants[1].path = "/\x1b[2J";
    BOOST_TEST(render_text(run).find('\x1b') == std::string::npos);
}
