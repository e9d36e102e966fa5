#define BOOST_TEST_MODULE render_metrics
#include <boost/test/unit_test.hpp>

#include "accounting/base/units.hpp"
#include "tools/render_metrics.hpp"

using namespace allot;

namespace {

tenant_figures tenant(const std::string &path, std::uint64_t current, std::uint32_t depth) {
    tenant_figures t;
    t.path = path;
    t.current = t.usage = current;
    t.depth = depth;
    t.max = t.high = unlimited;
    return t;
}

bool has(const std::string &text, const std::string &line) {
    return text.find("\n" + line + "\n") != std::string::npos;
}

} // namespace

BOOST_AUTO_TEST_CASE(labels_are_escaped_so_that_no_two_names_meet) {
    BOOST_TEST(label_text("/a\"b\\c") == "/a\\\"b\\\\c");
    BOOST_TEST(label_text("/caf\xc3\xa9") == "/caf\xc3\xa9");
    BOOST_TEST(label_text("/\xff") == "/\\\\xff");
    BOOST_TEST(label_text("/\\xff") == "/\\\\x5cxff");
    BOOST_TEST(label_text("/\xc3") == "/\\\\xc3");
    BOOST_TEST(label_text("/\xed\xa0\x80") == "/\\\\xed\\\\xa0\\\\x80"); // a surrogate
    BOOST_TEST(label_text("/\n\t") == "/\\\\x0a\\\\x09");
}

BOOST_AUTO_TEST_CASE(of_what_is_left_out_the_topmost_counts) {
    hierarchy_view view;
    view.tenants = {tenant("/", 100, 0), tenant("/a", 60, 1), tenant("/a/x", 30, 2), tenant("/a/x/y", 30, 3),
                    tenant("/b", 40, 1)};
    const std::string text = render_metrics(view, metrics_format::prometheus, 3);
    BOOST_TEST(has(text, "allot_memory_current_bytes{tenant=\"/b\"} 40"), text);
    BOOST_TEST(has(text, "allot_memory_current_bytes{tenant=\"(other)\"} 30"), text);
    BOOST_TEST(has(text, "allot_tenants 5"), text);
    BOOST_TEST(has(text, "allot_tenants_dropped_total 2"), text);
    BOOST_TEST(has(text, "allot_memory_max_bytes{tenant=\"/\"} +Inf"), text);
}

BOOST_AUTO_TEST_CASE(openmetrics_names_the_family_and_ends) {
    const std::string text = render_metrics({}, metrics_format::openmetrics, 3);
    BOOST_TEST(has(text, "# TYPE allot_memory_events counter"), text);
    BOOST_TEST(has(text, "# UNIT allot_memory_stat_forced_bytes bytes"), text);
    BOOST_TEST(text.ends_with("# EOF\n"));
    BOOST_TEST(has(render_metrics({}, metrics_format::prometheus, 3), "# TYPE allot_memory_events_total counter"));
}
