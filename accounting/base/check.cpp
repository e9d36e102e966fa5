#include "accounting/base/check.hpp"

#include "accounting/base/report.hpp"

#include <cstdlib>

namespace allot {

void check_failed(const char *what, const char *file, unsigned line) {
    line_writer out;
    out.text("allot: ").text(file).text(":").number(line).text(": does not hold: ").text(what);
    out.write();
    std::abort();
}

} // namespace allot
