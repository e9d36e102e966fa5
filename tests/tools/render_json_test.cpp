#define BOOST_TEST_MODULE render_json
#include <boost/test/unit_test.hpp>

#include "accounting/tables.hpp"
#include "tests/tools/example_run.hpp"
#include "tools/render_json.hpp"

#include <algorithm>
#include <string>

using namespace allot;

namespace {

std::string quoted(std::string text) {
    std::replace(text.begin(), text.end(), '\'', '"');
    return text;
}

constexpr char no_events[] = "'events':{'low':0,'high':0,'max':0,'oom':0,'oom_kill':0,'oom_group_kill':0}";
// All statistics in the order of their table: the first ones as given, the others zero.
std::string stat_of(std::initializer_list<int> first) {
    std::string all = "'stat':{";
    for (std::size_t i = 0; i < allot_nr_stats; ++i)
        all += (i == 0 ? "'" : ",'") + std::string(stat_table[i].name) +
               "':" + std::to_string(i < first.size() ? first.begin()[i] : 0);
    return all + "}";
}
const std::string no_stat = stat_of({});

} // namespace

// The schema is promised: keys and their order may be added to, never changed.
BOOST_AUTO_TEST_CASE(the_object_is_this) {
    const std::string root =
        std::string("{'path':'/','current':1024,'peak':67108864,'min':0,'low':0,'high':null,'max':67108864,") +
        "'events':{'low':0,'high':0,'max':9,'oom':7,'oom_kill':0,'oom_group_kill':0}," + stat_of({1024, 2}) + "}";
    const std::string web = "{'path':'/web','current':3,'peak':4,'min':7,'low':6,'high':5,'max':12999999999," +
                            std::string(no_events) + "," + no_stat + "}";
    const std::string expected = "{'command':['sh','-c','work'],'status':137,'tenants':[" + root + "," + web +
                                 "],'processes':[{'pid':4,'program':'sh','state':'ended','peak':67108864}," +
                                 "{'pid':5,'program':'work','state':'exited','peak':4096}]}\n";
    BOOST_TEST(render_json(example_run()) == quoted(expected));
}

BOOST_AUTO_TEST_CASE(bytes_that_are_not_text_do_not_stop_the_report) {
    run_figures run;
    run.command = {"caf\xe9", "a\"b\n"};
    BOOST_TEST(render_json(run) ==
               quoted("{'command':['caf\xef\xbf\xbd','a\\'b\\n'],'status':0,'tenants':[],'processes':[]}\n"));
}
