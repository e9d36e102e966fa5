"""Two tenants in one process, told apart by the name of the thread: the noisy one meets its own limit a thousand times, its
neighbour never; the books of both agree with what the program counted. Needs the command: a tree file is read by it alone.
"""
import json
import os
import re
import sys

import limited
from limited import expect

TREE = """
["/shop"]
"memory.max" = "96M"
["/shop/noisy"]
"memory.max" = "32M"
["/shop/quiet"]
"""


def work(way):
    if way.name != "command":
        return
    program = os.path.abspath(sys.argv[3])
    tree = way.runner.file("shop.toml", TREE)
    result = way.runner.run(way.allot, "run", "--tenant=/shop", f"--tree={tree}", "--map=thread:noisy=/shop/noisy",
                            "--map=thread:quiet=/shop/quiet", f"--report={way.report_file}", "--json", "--", program,
                            env={"ALLOT_PRELOAD_LIBRARY": way.library})
    counted = {name: (int(held), int(refused)) for name, held, refused in re.findall(r"(\w+): (\d+) bytes at most, (\d+) refus", result[0])}
    expect(counted["noisy"][1] == 1000 and counted["quiet"][1] == 0, f"only the noisy one is refused: {result}")
    expect(20 << 20 <= counted["noisy"][0] <= 32 << 20, f"it could use its limit: {result}")
    tenants = {tenant["path"]: tenant for tenant in json.loads(way.report_file.read_text())["tenants"]}
    expect(tenants["/shop/noisy"]["events"]["oom"] == 1000, f"every refusal is counted: {tenants}")
    expect(tenants["/shop/quiet"]["events"]["oom"] == 0, f"and none with the neighbour: {tenants}")
    expect(counted["noisy"][0] <= tenants["/shop/noisy"]["peak"] <= 32 << 20, f"the peak is what was held: {tenants}")
    expect(tenants["/shop/quiet"]["peak"] >= counted["quiet"][0], f"the neighbour's too: {tenants}")
    way.check_report = lambda: None


if len(sys.argv) < 4:
    print("skipped: wants LIBRARY ALLOT PROGRAM")
    sys.exit(77)
limited.check(work)
