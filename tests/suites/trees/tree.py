"""A process tree of a real program under `allot run`, one limit for its sum, and what others are told of it.

A program of the suite is one file: a function `work(tree)` and a call of `check`. It is started as `NAME.py LIBRARY ALLOT`.
Exit 0, 1, or 77 if a program it needs is not here.
"""
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "programs"))
from preloaded import Failure, Runner, free_port, require  # noqa: E402,F401

MEBIBYTE = 1 << 20


def expect(condition, what):
    if not condition:
        raise Failure(what)


class Tree(Runner):
    """Commands run under a hierarchy of their own; `allot` looks at it from outside."""

    def __init__(self, scratch, library, allot, user=None):
        super().__init__(scratch, library)
        self.allot_command, self.user = allot, user
        self.shm = tempfile.mkdtemp(prefix="allot-test-", dir="/dev/shm")
        self.environment["ALLOT_PRELOAD_LIBRARY"] = library
        for folder in (scratch, self.shm):
            if user:
                subprocess.run(["chown", user, folder], check=True)
                os.chmod(folder, 0o755)

    def as_user(self, words):
        words = [str(word) for word in words]
        return ["setpriv", "--reuid", self.user, "--regid", self.user, "--clear-groups", *words] if self.user else words

    def under(self, *command, max_mebibytes, more=()):
        """The words that run a command under the limit."""
        return self.as_user([self.allot_command, "run", "--dir", f"{self.shm}/d", "--hierarchy", "h", "--tenant", "/tree",
                             "--max", f"{max_mebibytes}M", *more, "--", *command])

    def allot(self, *words, status=0):
        result = subprocess.run(self.as_user([self.allot_command, words[0], "--dir", f"{self.shm}/d", "--hierarchy", "h", *words[1:]]),
                                capture_output=True, text=True, timeout=60, env=self.env(preload=False))
        expect(status is None or result.returncode == status, f"allot {words}: {result.returncode} {result.stdout}{result.stderr}")
        return result.stdout

    def number(self, file):
        return int(self.allot("get", "/tree", file))

    def events(self):
        return {key: int(value) for key, value in (line.split() for line in self.allot("get", "/tree", "memory.events").splitlines())}

    @contextlib.contextmanager
    def running(self, *command, max_mebibytes, port=None, stop=signal.SIGTERM, more=()):
        """The command under the limit while the block runs; stopped by a signal that `allot run` passes on."""
        log = open(self.scratch / "tree.log", "w+")
        process = subprocess.Popen(self.under(*command, max_mebibytes=max_mebibytes, more=more), cwd=self.scratch,
                                   env=self.env(preload=False), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            if port:
                self.wait_until_listening(process, port, log)
            yield process
            process.send_signal(stop)
            process.wait(30)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            self.log = self.tail(log)
            log.close()

    def close(self):
        subprocess.run(["rm", "-rf", self.shm], check=True)


def until(condition, what, seconds=20):
    for _ in range(int(seconds * 50)):
        if condition():
            return
        time.sleep(0.02)
    raise Failure(f"not within {seconds} s: {what}")


def check(work, needs, user=None):
    require(*needs)
    library, allot = (os.path.abspath(word) for word in sys.argv[1:3])
    if user and os.getuid() != 0:
        user = None  # then it is one who may run the program anyway
    with tempfile.TemporaryDirectory(prefix="allot-test-") as scratch:
        if user:  # it need not be able to read the build's folder
            os.chmod(scratch, 0o755)
            for name in (library, allot):
                subprocess.run(["cp", name, scratch], check=True)
            library, allot = (f"{scratch}/{os.path.basename(name)}" for name in (library, allot))
        tree = Tree(scratch, library, allot, user)
        try:
            work(tree)
        except (Failure, subprocess.TimeoutExpired) as failure:
            print(failure)
            sys.exit(1)
        finally:
            tree.close()
