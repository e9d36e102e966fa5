"""Runs a piece of work twice, without and with a preloaded library, and demands the same results.

A program of the suite is one file: a function `work(runner)` that uses a real program through the runner and returns what
must be equal (exit codes, output, checksums), and a call of `compare`. It is started as `NAME.py [LIBRARY]`; without a
library both runs are plain, which tests the test. Exit 0, 1, or 77 if a program it needs is not here.
"""
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

TIMEOUT_SECONDS = 120
SBIN = "/usr/local/sbin:/usr/sbin:/sbin"


class Failure(Exception):
    """What was expected and what came; ends the test."""


class Runner:
    """Starts programs in an own scratch directory and a fixed environment, with the library preloaded or not."""

    def __init__(self, scratch, library):
        self.scratch = pathlib.Path(scratch)
        self.library = library
        self.environment = {
            "PATH": f"/usr/local/bin:/usr/bin:/bin:{SBIN}", "HOME": str(scratch), "TMPDIR": str(scratch), "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
        }

    def env(self, more=None, preload=True):
        result = dict(self.environment, **(more or {}))
        if self.library and preload:
            result["LD_PRELOAD"] = self.library
        return result

    def file(self, name, content=""):
        """A file in the scratch directory; returns its path."""
        path = self.scratch / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        return path

    def run(self, *command, input="", env=None, status=0, preload=True):
        """(standard output, standard error) of a command that must end with this status."""
        result = subprocess.run([str(word) for word in command], input=input, cwd=self.scratch, env=self.env(env, preload),
                                capture_output=True, text=True, errors="backslashreplace", timeout=TIMEOUT_SECONDS)
        if status is not None and result.returncode != status:
            raise Failure(f"{' '.join(map(str, command))[:200]}\nended with {result.returncode}, expected {status}\n"
                          f"{result.stdout[-2000:]}{result.stderr[-2000:]}")
        return result.stdout, result.stderr

    @contextlib.contextmanager
    def server(self, *command, port, env=None, stop=signal.SIGTERM, status=0):
        """A server that listens on the port while the block runs; afterwards it must stop with this status."""
        log = open(self.scratch / f"server-{port}.log", "w+")
        process = subprocess.Popen([str(word) for word in command], cwd=self.scratch, env=self.env(env), stdin=subprocess.DEVNULL,
                                   stdout=log, stderr=subprocess.STDOUT)
        try:
            self.wait_until_listening(process, port, log)
            if self.library and os.path.basename(self.library) not in pathlib.Path(f"/proc/{process.pid}/maps").read_text():
                raise Failure(f"{command[0]} runs without the library")
            yield process
            process.send_signal(stop)
            if (code := process.wait(30)) != status:
                raise Failure(f"{command[0]} stopped with {code}, expected {status}\n{self.tail(log)}")
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            log.close()

    def wait_until_listening(self, process, port, log):
        for _ in range(300):
            if process.poll() is not None:
                raise Failure(f"the server ended at once with {process.returncode}\n{self.tail(log)}")
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.05)
        raise Failure(f"nobody listens on port {port}\n{self.tail(log)}")

    @staticmethod
    def tail(log):
        log.flush()
        log.seek(0)
        return log.read()[-3000:]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def require(*programs):
    for program in programs:
        if not shutil.which(program, path=f"/usr/local/bin:/usr/bin:/bin:{SBIN}"):
            print(f"skipped: {program} is not installed")
            sys.exit(77)


def assert_loads(library):
    """A library that ld.so refuses would make every comparison pass."""
    result = subprocess.run(["/bin/cat", "/proc/self/maps"], env={"LD_PRELOAD": library}, capture_output=True, text=True)
    if os.path.basename(library) not in result.stdout or result.stderr:
        raise Failure(f"{library} cannot be preloaded\n{result.stderr}")


def once(work, library):
    with tempfile.TemporaryDirectory(prefix="allot-test-") as scratch:
        started = time.monotonic()
        result = work(Runner(scratch, library))
        return result, time.monotonic() - started


def compare(work, needs):
    require(*needs)
    library = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1] else None
    try:
        if library:
            assert_loads(library)
        plain, plain_seconds = once(work, None)
        preloaded, seconds = once(work, library)
        if plain != preloaded:
            raise Failure(f"without the library:\n{plain}\nwith it:\n{preloaded}")
    except (Failure, subprocess.TimeoutExpired) as failure:
        print(failure)
        sys.exit(1)
    print(f"the same with and without; {plain_seconds:.2f} s without, {seconds:.2f} s with")
