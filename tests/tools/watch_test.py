"""watch: events as they happen, as text and as JSON lines, until the hierarchy goes away.

    watch_test.py ALLOT MEMBER
"""
import contextlib
import json
import pathlib
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cases  # noqa: E402
from hierarchies import ALLOT, Hierarchies  # noqa: E402


@contextlib.contextmanager
def watching(h, *arguments):
    with subprocess.Popen([ALLOT, "watch", "--interval", "0.05", *arguments], stdout=subprocess.PIPE, text=True, env=h.environment) as process:
        time.sleep(0.5)  # until it has looked once
        try:
            yield process
        finally:
            process.kill()


def test_an_event_is_told_where_it_happened_with_how_often():
    with Hierarchies() as h:
        member, other = h.member("/a/b"), h.member("/c")
        member.do("event", "oom")
        with watching(h, "--json", "/a") as watch:
            other.do("event", "oom")
            member.do("event", "max")
            line = json.loads(watch.stdout.readline())
            assert abs(line.pop("time") - time.time()) < 30
            assert line == {"tenant": "/a/b", "event": "max", "count": 1, "total": 1}, line
            member.do("event", "oom")
            assert json.loads(watch.stdout.readline())["total"] == 2


def test_text_is_a_line_each_and_it_ends_with_the_hierarchy():
    with Hierarchies() as h:
        member = h.member("/a")
        with watching(h) as watch:
            member.do("event", "high")
            line = watch.stdout.readline()
            assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} /a high \+1 \(1\)\n", line), line
            member.end()
            h.ok("rm", "--hierarchy", "h")
            assert watch.wait(timeout=10) == 0 and watch.stdout.read() == ""


def test_wrong_words_are_told_at_once():
    with Hierarchies() as h:
        h.ok("create", "--hierarchy", "h", "/a")
        for arguments, status, text in ((["--interval", "0"], 2, "--interval: '0': expected seconds"), (["/b"], 1, "/b: there is no such tenant")):
            result = h.allot("watch", *arguments)
            assert result.returncode == status and result.stderr.startswith("allot: " + text), result


cases.run_all(globals())
