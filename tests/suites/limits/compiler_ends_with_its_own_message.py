"""g++ ends with its own out-of-memory message and status 1: the limit holds in the compiler proper, a child of the driver."""
import re

import limited
from limited import expect

SOURCE = "#include <iostream>\n#include <map>\n#include <regex>\nint main() { std::regex word(\"[a-z]+\"); }\n"


def work(way):
    source = way.runner.file("heavy.cpp", SOURCE)
    status, out, err = way.run("g++", "-std=c++20", "-O2", "-c", source, "-o", "heavy.o", max_mebibytes=60, control_mebibytes=120)
    expect(status == 1, f"the driver ends with 1: {status} {err}")
    expect(re.search(r"out of memory allocating \d+ bytes|virtual memory exhausted", err), f"the compiler says why: {err}")
    expect("internal compiler error" not in err and "signal" not in err, f"it does not crash: {err}")


limited.check(work, needs=["g++"])
