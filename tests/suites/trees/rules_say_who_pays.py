"""Rules by program and by library in a tree of real programs: a shell, python below it, and C libraries that python uses, which are
refused while python goes on. Usage: as tree.py says.
"""
import sys

import tree
from tree import MEBIBYTE, expect

SCRIPT = r"""
import os, sqlite3, subprocess, sys, threading, zlib

def number(tenant, file="memory.current"):
    return int(subprocess.run([os.environ["ALLOT"], "get", tenant, file], capture_output=True, text=True).stdout)
def is_in(tenant):
    return str(os.getpid()) in subprocess.run([os.environ["ALLOT"], "get", tenant, "cgroup.procs"], capture_output=True, text=True).stdout.split()

print("python", is_in("/python"), is_in("/tree"))
kept = bytearray(8 << 20)
print("its own", number("/python") > 8 << 20)

database = sqlite3.connect(":memory:", isolation_level=None)
database.execute("pragma cache_size = -1000000")
database.execute("create table t (a)")
refused = 0
for i in range(200):
    try:
        database.execute("insert into t values (randomblob(100000))")
    except (sqlite3.OperationalError, MemoryError) as error:
        refused += 1
print("refused", refused > 50, number("/sql", "memory.peak") <= 8 << 20, number("/sql") > 6 << 20)
more = bytearray(20 << 20)
print("goes on", len(more), database.execute("select count(*) > 50 from t").fetchone())
database.close()
print("given back", number("/sql") < 1 << 20)

def compress():
    held = [zlib.compressobj(9) for _ in range(20)]
    seen.append(number("/zip"))
seen = []
threads = [threading.Thread(target=compress) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print("threads", min(seen) > 20 * 200000, number("/zip") < 100000)

sys.stdout.flush()
if os.fork() == 0:
    print("child", is_in("/python"), flush=True)
    os.execv("/bin/sh", ["sh", "-c", '"$ALLOT" get /python cgroup.procs | grep -c "^$$\\$"; "$ALLOT" get /tree cgroup.procs | grep -c "^$$\\$"'])
os.wait()
"""
EXPECTED = """python True False
its own True
refused True True True
goes on 20971520 (1,)
given back True
threads True True
child True
0
1
"""


def work(t):
    script = t.scratch / "script.py"
    script.write_text(SCRIPT)
    (t.scratch / "tree.toml").write_text('["/sql"]\n"memory.max" = "8M"\n')
    t.environment["ALLOT"] = t.allot_command
    more = ["--map", "exe:python3*=/python", "--map", "lib:libsqlite3.so*=/sql", "--map", "lib:libz.so*=/zip",
            "--tree", t.scratch / "tree.toml"]
    with t.running("/bin/sh", "-c", f"/usr/bin/python3 {script} > {t.scratch}/out; exit $?", max_mebibytes=300, more=more) as run:
        run.wait(60)
        expect(run.returncode == 0, f"status {run.returncode}")
    out = (t.scratch / "out").read_text()
    expect(out == EXPECTED, f"{out!r} {t.log}")
    t.allot("verify")
    # A rule that names nobody's library changes nothing.
    with t.running("/usr/bin/python3", "-c", "import zlib; zlib.compress(b'a' * 100000)", max_mebibytes=100,
                   more=["--map", "lib:libnone*=/none"]) as run:
        run.wait(60)
        expect(run.returncode == 0 and int(t.allot("get", "/none", "memory.peak")) == 0, "nothing is charged to it")


try:
    import sqlite3  # noqa: F401
except ImportError:
    sys.exit(77)
tree.check(work, needs=["python3"])
