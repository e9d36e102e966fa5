"""Runs a real program under a limit, in every way there is to set one, and lets the test look at how it ended.

Usage of a test: `NAME.py [LIBRARY [ALLOT]]`. With a library the limit is set by the environment; with the command too, also
by `allot run`, whose report must then agree: never more than the limit, and at least one refusal. Without a library the
kernel's limit of the address space stands in, which says the same to the program and so tests the test.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "programs"))
from preloaded import Failure, Runner, assert_loads, require  # noqa: E402

MEBIBYTE = 1 << 20
TIMEOUT_SECONDS = 120


class Way:
    """One way to limit a program."""

    def __init__(self, name, scratch, library, allot):
        self.name = name
        self.runner = Runner(scratch, None)
        self.library = library
        self.allot = allot
        self.report_file = pathlib.Path(scratch) / "report.json"

    def command(self, command, max_mebibytes, control_mebibytes, options):
        """(words, environment) that run the command under the limit."""
        words, environment = [str(word) for word in command], self.runner.env()
        if self.name == "ulimit":
            return ["prlimit", f"--as={control_mebibytes * MEBIBYTE}"] + words, environment
        if self.name == "environment":
            environment.update({"LD_PRELOAD": self.library, "ALLOT_MEMORY_MAX": f"{max_mebibytes}M"})
            environment.update({"ALLOT_" + key.upper(): value for key, value in options.items()})
            return words, environment
        options = [f"--{key}={value}" for key, value in options.items()]
        limits = [f"--max={max_mebibytes}M", f"--report={self.report_file}", "--json"]
        return [self.allot, "run", *limits, *options, "--"] + words, dict(environment, ALLOT_PRELOAD_LIBRARY=self.library)

    def run(self, *command, max_mebibytes, control_mebibytes, input="", **options):
        """(status, standard output, standard error); a signal N is 128+N, as a shell and `allot run` say it."""
        words, environment = self.command(command, max_mebibytes, control_mebibytes, options)
        self.max_bytes = max_mebibytes * MEBIBYTE
        result = subprocess.run(words, input=input, cwd=self.runner.scratch, env=environment, capture_output=True, text=True,
                                errors="backslashreplace", timeout=TIMEOUT_SECONDS)
        status = result.returncode if result.returncode >= 0 else 128 - result.returncode
        return status, result.stdout, result.stderr

    def check_report(self):
        """What the report of `allot run` says must agree with what the program met."""
        if self.name != "command":
            return
        report = json.loads(self.report_file.read_text())
        root = next(tenant for tenant in report["tenants"] if tenant["path"] == "/")
        expect(root["max"] == self.max_bytes, f"the report's max is the limit: {root}")
        expect(0 < root["peak"] <= self.max_bytes, f"the peak is within the limit: {root}")
        expect(root["events"]["oom"] > 0, f"a refusal is counted: {root}")


def expect(condition, sentence):
    if not condition:
        raise Failure(f"does not hold: {sentence}")


def ways(scratch):
    library = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1] else None
    allot = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 and sys.argv[2] else None
    if library is None:
        return [Way("ulimit", scratch, None, None)]
    assert_loads(library)
    result = [Way("environment", scratch, library, None)]
    if allot and os.access(allot, os.X_OK):
        result.append(Way("command", scratch, library, allot))
    return result


def check(work, needs=()):
    """Calls work(way) for each way; it raises Failure if something is not as it should be."""
    require(*needs)
    with tempfile.TemporaryDirectory(prefix="allot-test-") as scratch:
        try:
            for way in ways(scratch):
                work(way)
                way.check_report()
                print(f"{way.name}: as it should be")
        except (Failure, subprocess.TimeoutExpired, OSError, KeyError, ValueError) as failure:
            print(f"{way.name if 'way' in locals() else 'start'}: {type(failure).__name__}: {failure}")
            sys.exit(1)
