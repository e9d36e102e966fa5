"""make -j2 of ten files, of which one needs more than there is: that compile says so itself, make reports it, the rest is built,
and the tree has never used more than its limit.
"""
import re
import subprocess

import tree
from tree import expect

MAX_MEBIBYTES = 220
ORDINARY = "#include <map>\n#include <string>\n#include <vector>\nint f{n}() {{ std::map<int, std::string> m; m[{n}] = \"x\"; return int(m.size()); }}\n"
HEAVY = """#include <map>
#include <string>
#include <utility>
template<int N> struct key { int v; bool operator<(const key &o) const { return v < o.v; } };
template<int N> int use() { std::map<key<N>, std::string> m; m[key<N>{N}] = "x"; return int(m.size()); }
template<int... N> int all(std::integer_sequence<int, N...>) { return (use<N>() + ...); }
int f7() { return all(std::make_integer_sequence<int, 300>()); }
"""


def work(t):
    for n in range(10):
        t.file(f"f{n}.cpp", HEAVY if n == 7 else ORDINARY.format(n=n))
    t.file("Makefile", "all: $(patsubst %,f%.o,0 1 2 3 4 5 6 7 8 9)\n%.o: %.cpp\n\tg++ -O1 -c $< -o $@\n")
    result = subprocess.run(t.under("make", "-k", "-j2", max_mebibytes=MAX_MEBIBYTES, more=["--report"]), cwd=t.scratch,
                            env=t.env(preload=False), capture_output=True, text=True, timeout=200)
    said = result.stderr
    expect(result.returncode == 2, f"make says that something failed: {result.returncode} {said[-2000:]}")
    expect(re.search(r"virtual memory exhausted|out of memory allocating", said), f"the compiler says why: {said[-2000:]}")
    expect("f7.o] Error 1" in said, f"make says which: {said[-2000:]}")
    built = sorted(path.name for path in t.scratch.glob("*.o"))
    expect(len(built) >= 8 and "f7.o" not in built, f"the rest is built: {built}")
    row = re.search(r"/tree\s.*|tree\s.*", said)
    expect(row, f"the report has the tenant: {said[-2000:]}")
    peak = re.findall(r"([\d.]+)M", row.group())
    expect(peak and all(float(number) <= MAX_MEBIBYTES for number in peak), f"never above its limit: {row.group()}")
    expect(result.stdout.count("g++") == 10, f"each file was tried: {result.stdout}")


tree.check(work, needs=["make", "g++"])
