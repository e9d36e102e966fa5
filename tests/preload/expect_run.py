"""Runs one program and compares what it did: exit status, standard output and error, byte by byte or by a pattern.

  expect_run.py [--preload LIBRARY] [--set NAME=VALUE]... [--status N] [--error REGEX] [--traced ALLOT] -- PROGRAM [ARGUMENT...]

Without --error nothing may be written to standard error; standard output must always be empty. A status below 0 is a
signal. The text of --error must match as a whole. With --traced the program is recorded as well, and `ALLOT trace` must find the
trace whole.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile


def problems_of_trace(allot, file):
    shown = subprocess.run([allot, "trace", "--json", file], capture_output=True, text=True)
    if shown.returncode != 0:
        return [f"allot trace: {shown.stderr!r}"]
    return [f"the trace: {name} {count}" for name, count in json.loads(shown.stdout)["damage"].items() if count]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--preload", default="")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--status", type=int, default=0)
    parser.add_argument("--error", default="")
    parser.add_argument("--traced", metavar="ALLOT")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()

    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("ALLOT_", "MALLOC_", "LD_", "GLIBC_TUNABLES"))}
    environment.update(setting.split("=", 1) for setting in options.set)
    if options.preload:
        environment["LD_PRELOAD"] = options.preload
    folder = tempfile.TemporaryDirectory(prefix="allot-trace-")
    if options.traced:
        environment["ALLOT_TRACE"] = os.path.join(folder.name, "trace")
    done = subprocess.run(options.command, env=environment, capture_output=True, text=True, errors="replace")

    problems = []
    if done.returncode != options.status:
        problems.append(f"status {done.returncode}, expected {options.status}")
    if done.stdout:
        problems.append(f"standard output: {done.stdout!r}, expected nothing")
    if not re.fullmatch(options.error, done.stderr):
        problems.append(f"standard error: {done.stderr!r}, expected {options.error!r}")
    if options.traced:
        problems += problems_of_trace(options.traced, environment["ALLOT_TRACE"])
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)


main()
