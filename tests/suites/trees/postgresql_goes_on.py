"""PostgreSQL under one limit: initdb, eight clients of pgbench, a query that needs too much and gets PostgreSQL's own error while
server and clients go on; a backend that is killed, after which the figures are exact.
"""
import glob
import os
import re
import signal
import subprocess
import time

import tree
from tree import expect, until

BIN = (sorted(glob.glob("/usr/lib/postgresql/*/bin")) or [""])[-1]
MAX_MEBIBYTES = 200
TOO_MUCH = ("set work_mem='2GB'; select count(*), max(x) from "
            "(select array_agg(g::text || repeat('x', 50)) x from generate_series(1, 6000000) g) s")


def work(t):
    data, port = f"{t.scratch}/data", tree.free_port()
    made = subprocess.run(t.under(f"{BIN}/initdb", "-D", data, "-A", "trust", "--no-locale", "-E", "UTF8",
                                  max_mebibytes=MAX_MEBIBYTES), cwd=t.scratch, env=t.env(preload=False), capture_output=True, text=True)
    expect(made.returncode == 0, made.stderr)
    options = ["-D", data, "-p", port, "-k", t.scratch, "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off",
               "-c", "shared_buffers=16MB", "-c", "max_parallel_workers_per_gather=0"]

    def client(*words):
        user = t.user or os.environ.get("USER", "postgres")
        return subprocess.run(t.as_user([*words[:1], "-h", "127.0.0.1", "-p", port, "-U", user, *words[1:]]), cwd=t.scratch,
                              env=t.env({"PGDATABASE": "postgres"}, preload=False), capture_output=True, text=True, timeout=100)

    with t.running(f"{BIN}/postgres", *options, max_mebibytes=MAX_MEBIBYTES, port=port, stop=signal.SIGINT):
        until(lambda: client("psql", "-Atc", "select 1").stdout == "1\n", "the server answers")
        expect(client("pgbench", "-i", "-q", "-s", "1").returncode == 0, "tables are made")
        bench = subprocess.Popen(t.as_user(["pgbench", "-h", "127.0.0.1", "-p", port, "-U", t.user or "postgres", "-c", "8", "-j", "2",
                                            "-T", "6"]), cwd=t.scratch, env=t.env({"PGDATABASE": "postgres"}, preload=False),
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        time.sleep(1)
        refused = client("psql", "-c", TOO_MUCH)
        expect("ERROR:  out of memory" in refused.stderr, f"PostgreSQL's own error: {refused.stderr}")
        expect(client("psql", "-Atc", "select 2").stdout == "2\n", "the server goes on")
        said, _ = bench.communicate(timeout=60)
        expect(bench.returncode == 0 and re.search(r"number of failed transactions: 0", said), f"so do the clients: {said}")
        expect(t.events()["oom"] > 0 and t.number("memory.peak") <= MAX_MEBIBYTES << 20, t.allot("get", "/tree", "memory.events"))
        # A backend with memory of its own, killed: PostgreSQL begins anew, and what was charged is what is there.
        sort = subprocess.Popen(t.as_user(["psql", "-h", "127.0.0.1", "-p", port, "-U", t.user or "postgres", "-c",
                                           "set work_mem='1GB'; select count(*) from (select g, pg_sleep(case when g = 499999 then 30 end) "
                                           "from generate_series(1, 500000) g order by g::text) s"]), cwd=t.scratch, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, env=t.env({"PGDATABASE": "postgres"}, preload=False))
        before = t.number("memory.current")
        until(lambda: t.number("memory.current") > before + (4 << 20), "the backend sorts")
        pid = client("psql", "-Atc", "select pid from pg_stat_activity where query like '%499999%' and pid <> pg_backend_pid()").stdout
        expect(pid.strip(), f"the backend is at it: {sort.communicate(timeout=40)[0] if not pid.strip() else ''}")
        os.kill(int(pid.split()[0]), signal.SIGKILL)
        sort.communicate(timeout=30)
        until(lambda: client("psql", "-Atc", "select 3").stdout == "3\n", "the server has begun anew")
        t.allot("verify")
        expect(t.number("memory.current") < before + (4 << 20), "what the killed one had is gone")


tree.check(work, needs=["psql", "pgbench"], user="postgres")
