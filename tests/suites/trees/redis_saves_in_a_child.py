"""redis that has used more than half of its limit forks to save: what the child shares with its parent is not counted twice, so
neither of them is refused anything. Then as a daemon, whose first process ends at once.
"""
import subprocess

import tree
from tree import MEBIBYTE, expect, until

MAX_MEBIBYTES = 100


def work(t):
    def redis(port, *words):
        result = subprocess.run(["redis-cli", "-p", str(port), *words], capture_output=True, text=True, timeout=60, cwd=t.scratch)
        return result.stdout.strip()

    def fill(port):
        subprocess.run(["redis-benchmark", "-p", str(port), "-q", "-n", "60000", "-r", "1000000", "-P", "32", "-t", "set", "-d", "1024"],
                       capture_output=True, timeout=100, cwd=t.scratch)
        used = t.number("memory.current")
        expect(used > 52 * MEBIBYTE, f"more than half is used: {t.allot('get', '/tree', 'memory.stat')} {redis(port, 'info', 'memory')[:60]} {t.allot('tree')} {t.allot('verify', status=None)}")
        return used

    def save(port):
        saved = redis(port, "lastsave")
        until(lambda: redis(port, "time").split()[0] > saved, "a second passes")
        expect("started" in redis(port, "bgsave"), "it forks")
        subprocess.run(["redis-benchmark", "-p", str(port), "-q", "-n", "5000", "-r", "1000000", "-t", "set,get", "-d", "64"],
                       capture_output=True, timeout=100, cwd=t.scratch)
        until(lambda: redis(port, "lastsave") > saved, "the child has saved")
        expect("rdb_last_bgsave_status:ok" in redis(port, "info", "persistence"), redis(port, "info", "persistence"))
        expect(t.events()["oom"] == 0, f"nobody was refused: {t.events()}")

    port = tree.free_port()
    common = ["redis-server", "--bind", "127.0.0.1", "--save", "", "--dir", t.scratch]
    with t.running(*common, "--port", port, max_mebibytes=MAX_MEBIBYTES, port=port):
        fill(port)
        save(port)
        t.allot("verify")
    (t.scratch / "dump.rdb").unlink()  # which the next one would begin with

    port = tree.free_port()
    with t.running(*common, "--port", port, "--daemonize", "yes", max_mebibytes=MAX_MEBIBYTES, port=port) as run:
        used = fill(port)
        expect(run.poll() is None, "allot run waits for the daemon")
        expect(used <= MAX_MEBIBYTES * MEBIBYTE, "which is below the limit")
        subprocess.run(["redis-benchmark", "-p", str(port), "-q", "-n", "60000", "-r", "1000000", "-P", "32", "-t", "set", "-d", "1024"],
                       capture_output=True, timeout=100, cwd=t.scratch)
        expect(t.number("memory.peak") <= MAX_MEBIBYTES * MEBIBYTE, "and stays there")
        redis(port, "shutdown", "nosave")


tree.check(work, needs=["redis-server", "redis-cli", "redis-benchmark"])
