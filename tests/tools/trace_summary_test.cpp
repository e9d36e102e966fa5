#define BOOST_TEST_MODULE trace_summary
#include <boost/test/unit_test.hpp>

#include "tests/support/scratch.hpp"
#include "tests/support/trace_builder.hpp"
#include "tools/trace_summary.hpp"

#include <algorithm>

using namespace allot;

namespace {

struct file_of_test : scratch_folder {
    std::string file = folder / "t";
};

std::size_t index_of(const trace_reader &reader, const std::string &path) {
    const auto &paths = reader.tenants();
    return static_cast<std::size_t>(std::find(paths.begin(), paths.end(), path) - paths.begin());
}

} // namespace

BOOST_FIXTURE_TEST_CASE(operations_bytes_and_peaks_are_summed_of_all_and_by_tenant_image_and_thread, file_of_test) {
    trace_builder()
        .add(trace_block_builder(1)
                 .works_for(1, "/a")
                 .alloc(0, 0x10, 100, 12)
                 .alloc(1, 0x20, 50, 14)
                 .free(1, 0x10)
                 .works_for(2, "/b")
                 .record(ALLOT_TRACE_THREAD, {0, 5})
                 .alloc(1, 0x30, 1000, 24)
                 .transfer(1, 0x20, 2, "/b")
                 .record(ALLOT_TRACE_REFUSED, {1, 5}))
        .write(file);
    trace_reader reader({file});
    trace_summary s(reader);
    BOOST_TEST(s.all().allocs == 3u);
    BOOST_TEST(s.all().frees == 1u);
    BOOST_TEST(s.all().transfers == 1u);
    BOOST_TEST(s.all().refusals == 1u);
    BOOST_TEST(s.all().requested_bytes == 1150u);
    BOOST_TEST(s.all().allocated_bytes == 112u + 64 + 1024);
    BOOST_TEST(s.all().live_peak == 64u + 1024);
    BOOST_TEST(s.all().live_peak_time == 1003u);
    BOOST_TEST(s.all().live == 0u); // its image has ended
    const trace_counts &a = s.tenants()[index_of(reader, "/a")], &b = s.tenants()[index_of(reader, "/b")];
    BOOST_TEST(a.live_peak == 176u);
    BOOST_TEST(a.live == 0u);
    BOOST_TEST(a.frees == 1u);
    BOOST_TEST(b.live_peak == 1088u);
    BOOST_TEST(b.refusals == 1u);
    BOOST_TEST(s.images()[0].live == 1088u); // what it had at its end
    BOOST_TEST(s.threads()[0].allocs == 2u);
    BOOST_TEST(s.threads()[1].allocs == 1u);
    BOOST_TEST(s.begin() == 1000u);
    BOOST_TEST(s.end() == 1005u);
}

BOOST_FIXTURE_TEST_CASE(images_that_do_not_live_at_the_same_time_do_not_add_up, file_of_test) {
    trace_builder()
        .add(trace_block_builder(1, 1, 0, 1000).alloc(0, 16, 100, 12))
        .add(trace_block_builder(2, 1, 0, 2000).alloc(0, 16, 60, 4))
        .write(file);
    trace_reader reader({file});
    trace_summary s(reader);
    BOOST_TEST(s.all().live_peak == 112u);
    BOOST_TEST(s.all().live == 0u);
}

BOOST_FIXTURE_TEST_CASE(sizes_are_counted_by_the_power_of_two_that_holds_them, file_of_test) {
    trace_builder()
        .add(trace_block_builder()
                 .alloc(0, 0x10, 1, 15)
                 .alloc(0, 0x20, 17, 15)
                 .alloc(0, 0x30, 33, 15)
                 .alloc(0, 0x40, 64, 0))
        .write(file);
    trace_reader reader({file});
    trace_summary s(reader);
    BOOST_TEST(s.sizes()[4].allocs == 1u); // 16
    BOOST_TEST(s.sizes()[5].allocs == 1u); // 32
    BOOST_TEST(s.sizes()[6].allocs == 2u); // 48 and 64
    BOOST_TEST(s.sizes()[6].requested_bytes == 97u);
}

BOOST_FIXTURE_TEST_CASE(a_resize_moves_what_lives_and_what_is_not_known_moves_nothing, file_of_test) {
    trace_builder()
        .add(trace_block_builder()
                 .alloc(0, 16, 100, 12)
                 .resize(0, 16, 4000, 96)
                 .resize(0, 16, 10, 6)
                 .free(0, 32)
                 .resize(0, 48, 5, 11))
        .write(file);
    trace_reader reader({file});
    trace_summary s(reader);
    BOOST_TEST(s.all().live_peak == 4096u);
    BOOST_TEST(s.images()[0].live == 16u);
    BOOST_TEST(s.all().resizes == 3u);
}
