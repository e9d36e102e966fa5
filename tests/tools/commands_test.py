"""tree, ls, create, rm, get, set, reclaim: what they answer, what they refuse, and what running processes notice.

    commands_test.py ALLOT MEMBER
"""
import json
import pathlib
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cases  # noqa: E402
from hierarchies import Hierarchies  # noqa: E402

MIB = 1 << 20


def refused(result, status, *parts):
    assert result.returncode == status and result.stdout == "", result
    assert result.stderr.startswith("allot: ") and result.stderr.count("\n") == 1, result
    for part in parts:
        assert part in result.stderr, result


def test_a_tenant_is_made_with_its_parents_and_limits_and_removed():
    with Hierarchies() as h:
        h.ok("create", "--hierarchy", "h", "/web/api", "memory.max=64M", "memory.oom.policy=kill")
        assert h.get("/web/api", "memory.max") == str(64 * MIB) and h.get("/web/api", "memory.oom.policy") == "kill"
        refused(h.allot("create", "/web/api"), 1, "/web/api: is there already")
        refused(h.allot("rm", "/web"), 1, "/web: has tenants below it")
        h.ok("rm", "/web/api")
        refused(h.allot("get", "/web/api", "memory.max"), 1, "/web/api: there is no such tenant")
        h.ok("create", "/web/api")
        assert h.get("/web/api", "memory.max") == "max"  # its settings are forgotten
        refused(h.allot("rm", "/"), 1, "the root goes with its hierarchy")


def test_usage_is_that_of_all_processes_without_what_they_hold_ahead():
    with Hierarchies() as h:
        one, two = h.member("/a/x"), h.member("/a/y")
        one.do("charge", 3 * MIB)
        two.do("charge", MIB)
        two.do("stock", 4096)
        assert h.get("/a", "memory.current") == str(4 * MIB)
        stat = dict(line.split() for line in h.get("/a", "memory.stat").splitlines())
        assert stat["external"] == str(4 * MIB) and stat["stock"] == "4096" and stat["unavailable"] == "0", stat
        assert h.get("/a", "memory.peak") == str(4 * MIB + 4096)
        assert h.get("/a/x", "cgroup.procs") == str(one.pid) and h.get("/a", "cgroup.procs") == ""
        assert h.get("/a", "cgroup.events") == "populated 1\nfrozen 0" and h.get("/a", "cgroup.stat").startswith("nr_descendants 2\n")
        tree = json.loads(h.ok("tree", "--json", "/a"))
        assert [t["path"] for t in tree["tenants"]] == ["/a", "/a/x", "/a/y"] and tree["tenants"][0]["processes"] == 2, tree
        assert {p["pid"]: p["charged"] for p in tree["processes"]} == {one.pid: 3 * MIB, two.pid: MIB + 4096}, tree
        assert all(p["program"] == "hierarchy_member" and p["state"] == "running" for p in tree["processes"]), tree
        assert json.loads(h.ok("ls", "--json")) == [{"name": "h", "processes": 2, "tenants": 4, "current": 4 * MIB}]


def test_the_dead_are_not_shown():
    with Hierarchies() as h:
        gone = h.member("/a")
        gone.do("charge", MIB)
        gone.end()
        assert h.get("/a", "memory.current") == "0" and h.get("/", "memory.peak") == str(MIB)
        assert h.ok("ls").splitlines()[1].split() == ["h", "0", "2", "0"]


def test_every_file_that_can_be_written_is_read_as_it_was_written():
    with Hierarchies() as h:
        h.ok("create", "--hierarchy", "h", "/a/b", "memory.max=1G")
        for file, value, read in (("memory.min", "1K", "1024"), ("memory.low", "1.5K", "1536"), ("memory.high", "25%", None),
                                  ("memory.max", "max", "max"), ("memory.headroom", "64K", "65536"), ("memory.oom.policy", "abort", "abort"),
                                  ("memory.oom.group", "1", "1"), ("memory.throttle", "inherit", "inherit"),
                                  ("memory.throttle", "1", "1"), ("cgroup.max.descendants", "2", "2"), ("cgroup.max.descendants", "max", "max")):
            h.ok("set", "/a/b", f"{file}={value}")
            assert read is None or h.get("/a/b", file) == read, (file, h.get("/a/b", file))
        h.ok("set", "/a", "memory.max=100M")
        h.ok("set", "/a/b", "memory.max=50%")
        assert h.get("/a/b", "memory.max") == str(50 * MIB)  # of the parent's
        h.ok("set", "/a", "cgroup.max.descendants=1")
        refused(h.allot("create", "/a/c"), 1, "cgroup.max.descendants")


def test_a_limit_that_is_set_holds_for_who_runs_and_the_peak_begins_anew():
    with Hierarchies() as h:
        member = h.member("/a")
        member.do("charge", 8 * MIB)
        member.do("uncharge", 7 * MIB)
        h.ok("set", "/a", "memory.max=2M")
        member.do("charge", 2 * MIB, expected="failed")
        member.do("charge", MIB)
        assert h.get("/a", "memory.peak") == str(8 * MIB)
        h.ok("set", "/a", "memory.peak=0")
        assert h.get("/a", "memory.peak") == str(2 * MIB)
        h.ok("set", "/a", "memory.max=max")
        member.do("charge", 64 * MIB)


def test_limits_are_set_while_processes_charge():
    with Hierarchies() as h:
        members = [h.member("/a/m") for _ in range(3)]
        stop = threading.Event()

        def work(member):
            while not stop.is_set():
                member.do("charge", MIB)
                member.do("uncharge", MIB)

        threads = [threading.Thread(target=work, args=(member,)) for member in members]
        for thread in threads:
            thread.start()
        for i in range(20):
            h.ok("set", "/a", f"memory.max={64 + i}M", f"memory.high={32 + i}M")
            assert h.get("/a", "memory.max") == str((64 + i) * MIB)
        stop.set()
        for thread in threads:
            thread.join()
        assert h.get("/", "memory.current") == "0"
        assert h.allot("verify", "--outside").returncode == 0


def test_a_refused_write_changes_nothing():
    with Hierarchies() as h:
        h.ok("create", "--hierarchy", "h", "/a", "memory.max=1M")
        for word, part in (("memory.max=5MB", "memory.max: '5MB': KB, MB and the like"), ("memory.max=", "it is empty"),
                           ("memory.max=-1", "not negative"), ("memory.oom.group=2", "expected 0 or 1"),
                           ("memory.oom.policy=panic", "expected inherit or fail or kill or abort"), ("memory.maxx=1", "there is no such file"),
                           ("memory.current=1", "cannot be written to"), ("memory.fail=3", "from outside"), ("memory.max", "expected FILE=VALUE"),
                           ("cgroup.max.descendants=x", "expected a number"), ("cgroup.kill=0", "expected 1")):
            refused(h.allot("set", "/a", "memory.max=2M", word), 2, part)
            assert h.get("/a", "memory.max") == str(MIB), word
        refused(h.allot("get", "/a", "memory.maxx"), 1, "there is no such file")
        refused(h.allot("get", "/a", "memory.reclaim"), 1, "can only be written")
        refused(h.allot("get", "/a", "memory.pressure"), 1, "only its processes know")


def test_a_kill_reaches_those_below_and_nobody_else():
    with Hierarchies() as h:
        inside, below, outside = h.member("/a"), h.member("/a/b"), h.member("/c")
        h.ok("set", "/a", "cgroup.kill=1")
        assert inside.process.wait(timeout=10) == -9 and below.process.wait(timeout=10) == -9
        assert outside.process.poll() is None


def test_the_largest_is_asked_first_until_it_is_enough():
    with Hierarchies() as h:
        small, large = h.member("/a"), h.member("/a/b")
        small.do("charge", MIB)
        large.do("charge", 8 * MIB)
        large.start("serve", 2 * MIB)
        assert h.ok("reclaim", "/a", "2M") == f"{2 * MIB} of {2 * MIB} bytes were given back\n"
        large.finish()
        large.start("serve", MIB)
        small.start("serve", 4096)
        less = h.allot("reclaim", "/a", "2M")
        large.finish()
        small.finish()
        assert less.returncode == 1 and less.stdout == f"{MIB + 4096} of {2 * MIB} bytes were given back\n", less
        nobody = h.allot("reclaim", "/a", "2M")
        assert nobody.returncode == 1 and nobody.stderr.count("it did not answer within a second") == 2, nobody
        refused(h.allot("reclaim", "/a", "5MB"), 2, "SIZE: '5MB'")
        refused(h.allot("reclaim", "/a"), 2, "SIZE is missing")


def test_a_hierarchy_is_chosen_by_name_or_because_it_is_the_only_one():
    with Hierarchies() as h:
        for command in (["tree"], ["top", "-b"], ["verify"], ["export"], ["watch"], ["get", "/", "memory.max"]):
            refused(h.allot(*command), 1, "there is no hierarchy")
        assert h.ok("ls") == "hierarchy  procs  tenants  current\n"
        refused(h.allot("create", "/a"), 2, "--hierarchy is missing")
        h.ok("create", "--hierarchy", "one", "/")
        h.ok("tree")
        h.ok("create", "--hierarchy", "two", "/a")
        for command in (["tree"], ["top", "-b"], ["verify"], ["export"], ["watch"], ["rm", "/a"], ["create", "/b"], ["set", "/", "memory.max=1"]):
            refused(h.allot(*command), 2, "expected one of: one, two")
        h.ok("tree", "--hierarchy", "two", "/a")
        refused(h.allot("tree", "--hierarchy", "three"), 1, "hierarchy three in ")
        refused(h.allot("tree", "a"), 2, "PATH: 'a': expected / or names")
        refused(h.allot("tree", "--hierarchy", "a/b"), 2, "--hierarchy: 'a/b'")


def test_a_whole_hierarchy_goes_once_nobody_lives_in_it():
    with Hierarchies() as h:
        member = h.member("/a")
        refused(h.allot("rm"), 2, "PATH is missing")
        refused(h.allot("rm", "--hierarchy", "h"), 1, "1 process lives in it")
        member.end()
        h.ok("rm", "--hierarchy", "h")
        assert not h.file().parent.exists()
        refused(h.allot("rm", "--hierarchy", "h"), 1, "is not there")


def test_a_name_cannot_steer_the_terminal():
    with Hierarchies() as h:
        h.ok("create", "--hierarchy", "h", "/\x1b[2Jcaf\u00e9\x07")
        for command in (["tree"], ["top", "-b", "-n", "1"]):
            text = h.ok(*command)
            assert "\x1b" not in text and "\x07" not in text and "?[2Jcaf\u00e9?" in text, text


cases.run_all(globals())
