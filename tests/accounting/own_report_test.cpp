// The whole report is compared, so each case starts in a child of its own.
#define BOOST_TEST_MODULE own_report
#include <boost/test/unit_test.hpp>

#include "accounting/own_report.hpp"
#include "accounting/tables.hpp"
#include "accounting/uncounted.hpp"
#include "tests/support/dying.hpp"
#include "tests/support/verified.hpp"

#include <string>

using namespace allot;

namespace {

constexpr char command[] = "work\0hard";

void write_report(report_form form, const char *words = command, std::size_t bytes = sizeof command) {
    char buffer[50];
    int fd = 2;
    text_sink out(
        buffer, sizeof buffer,
        [](void *to, const char *text, std::size_t length) {
            if (write(*static_cast<int *>(to), text, length) < 0) _exit(9);
        },
        &fd);
    write_own_report(out, {form, words, bytes, 3});
}

} // namespace

BOOST_AUTO_TEST_CASE(tenants_stand_in_the_order_of_their_names_whenever_they_were_made) {
    death d = death_of([] {
        setenv("ALLOT_TREE", "/b/z;/a-b memory.max=4097;/b;/a/c;/b/y memory.max=64M;/gone", 1);
        if (!accounting_start()) _exit(1);
        int error = 0;
        if (tenant_destroy(tenant_open("/gone", error)) != 0) _exit(1);
        context *c = context_open(obj_cgroup_of(tenant_open("/b/y", error)));
        if (!charge(c, 4096) || charge(c, 64 << 20)) _exit(1);
        write_report(report_form::text);
    });
    BOOST_TEST(d.status == 0);
    const std::string pid =
        d.message.substr(d.message.rfind(" (") + 2, d.message.rfind(", exited") - d.message.rfind(" (") - 2);
    const std::string head = "  own_report_test (" + pid + ", exited)";
    const auto line = [&](std::string first, const char *rest) {
        first.resize(head.size(), ' ');
        return first + rest + "\n";
    };
    BOOST_TEST(d.message == "allot: work hard exited with status 3\n" +
                                line("tenant", "   current      peak       max   refused") +
                                line("  /", "      4.0K    260.0K       max         1") +
                                line("    a", "         0         0       max         0") +
                                line("      c", "         0         0       max         0") +
                                line("    a-b", "         0         0      4097         0") +
                                line("    b", "      4.0K    260.0K       max         1") +
                                line("      y", "      4.0K    260.0K       64M         1") +
                                line("      z", "         0         0       max         0") +
                                line("process", "                peak") + line(head, "              260.0K"));
}

// All statistics, of which one is not zero, in the order of their table.
static std::string stats_with(const std::string &name, int value) {
    std::string all;
    for (const stat_descriptor &d : stat_table)
        all += (all.empty() ? "\"" : ",\"") + std::string(d.name) + "\":" + std::to_string(d.name == name ? value : 0);
    return all;
}

BOOST_AUTO_TEST_CASE(the_object_is_this) {
    death d = death_of([] {
        setenv("ALLOT_ACCOUNT", "heap", 1);
        setenv("ALLOT_MEMORY_MAX", "1M", 1);
        if (!accounting_start() || !charge_bytes(obj_cgroup_of(tenant_root()), 7, charge_kind::external)) _exit(1);
        note_uncounted(12);
        note_uncounted(-5);
        write_report(report_form::json);
    });
    BOOST_TEST(d.status == 0);
    const std::string root = R"({"path":"/","current":7,"peak":7,"min":0,"low":0,"high":null,"max":1048576,)"
                             R"("events":{"low":0,"high":0,"max":0,"oom":0,"oom_kill":0,"oom_group_kill":0},)"
                             R"("stat":{)" +
                             stats_with("external", 7) + "}}";
    const std::size_t at = d.message.find("\"pid\":") + 6;
    const std::string pid = d.message.substr(at, d.message.find(',', at) - at);
    BOOST_TEST(d.message ==
               R"({"command":["work","hard"],"status":3,"tenants":[)" + root + R"(],"processes":[{"pid":)" + pid +
                   R"(,"program":"own_report_test","state":"exited","peak":7,"uncounted":{"current":7,"peak":12}}]})" +
                   "\n");
}

BOOST_AUTO_TEST_CASE(where_nothing_is_counted_it_says_so) {
    death d = death_of([] {
        setenv("ALLOT_EXCLUDE", "own_report_test", 1);
        write_report(report_form::text);
        write_report(report_form::json, "", 0);
    });
    BOOST_TEST(d.message == "allot: work hard exited with status 3\n"
                            "allot: no process was counted; allot doctor COMMAND says why a program cannot be\n"
                            "{\"command\":[],\"status\":3,\"tenants\":[],\"processes\":[]}\n");
}

BOOST_AUTO_TEST_CASE(a_thousand_tenants_come_in_order) {
    death d = death_of([] {
        if (!accounting_start()) _exit(1);
        for (int i = 0; i < 1000; ++i)
            if (tenant_create_path(("/t" + std::to_string(i * 7919 % 1000 + 1000)).c_str()) == nullptr) _exit(1);
        write_report(report_form::text);
    });
    BOOST_TEST(d.status == 0);
    std::size_t at = 0;
    for (int i = 1000; i < 2000 && at != std::string::npos; ++i)
        at = d.message.find("    t" + std::to_string(i) + " ", at);
    BOOST_TEST(at != std::string::npos);
}
