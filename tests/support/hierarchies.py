"""For tests of the commands that watch and steer: a folder of hierarchies, and processes in them that do what they are told.

A script that uses this is run as: NAME_test.py ALLOT MEMBER ...
"""
import os
import pathlib
import subprocess
import sys
import tempfile

ALLOT, MEMBER = (str(pathlib.Path(word).resolve()) for word in sys.argv[1:3])


class Member:
    """A process of a hierarchy; see tests/tools/hierarchy_member.cpp."""

    def __init__(self, hierarchies, name, tenant):
        self.process = subprocess.Popen([MEMBER, hierarchies.dir, name, tenant], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline().startswith("ready"), tenant
        self.pid = self.process.pid

    def start(self, *words):
        self.process.stdin.write(" ".join(str(word) for word in words) + "\n")
        self.process.stdin.flush()

    def finish(self, expected="done"):
        answer = self.process.stdout.readline().strip()
        assert answer == expected, answer

    def do(self, *words, expected="done"):
        self.start(*words)
        self.finish(expected)

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class Hierarchies:
    """with Hierarchies() as h: h.allot("tree"); h.member("/a").do("charge", 4096)"""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        self.dir = self.folder.name + "/dir"
        self.members = []
        environment = {k: v for k, v in os.environ.items() if not k.startswith("ALLOT_")}
        self.environment = {**environment, "ALLOT_DIR": self.dir}
        return self

    def __exit__(self, *_):
        for member in self.members:
            member.end()
        self.folder.cleanup()

    def allot(self, *arguments, timeout=60):
        return subprocess.run([ALLOT, *arguments], capture_output=True, text=True, errors="surrogateescape", timeout=timeout, env=self.environment)

    def ok(self, *arguments):
        result = self.allot(*arguments)
        assert result.returncode == 0 and result.stderr == "", result
        return result.stdout

    def get(self, path, file):
        return self.ok("get", path, file).strip()

    def member(self, tenant, name="h"):
        self.members.append(Member(self, name, tenant))
        return self.members[-1]

    def file(self, name="h"):
        return pathlib.Path(self.dir, name, "hierarchy")
