"""The three experiments behind Linux's patches, as runs of the benchmarks: which, with what, and what is read from them.

A run's result is the JSON object that a benchmark prints; an experiment is a list of runs. What depends on the machine
(operations a second) is measured in rounds, each variant in turn, and the median counts; what does not (counts an
operation) is taken from runs of a fixed number of iterations.
"""
import dataclasses
import json
import os
import pathlib
import shutil
import statistics
import subprocess

import allocators

PAIR_VARIANTS = ("null", "linux_none", "linux_5_13", "linux_5_14_before", "linux_5_14", "linux_6_1", "linux_6_16", "linux_2026",
                 "linux_5_14_before_v1", "linux_5_14_v1", "linux_2026_v1", "allot")
COUNTED_PAIR_VARIANTS = ("linux_5_14_before", "linux_5_14", "linux_2026", "linux_5_14_before_v1", "linux_5_14_v1", "allot")
PAIR_THREADS = (1, 2, 8, 96)
SIZES = (64, 256, 1024, 2048, 4096, 8192)
BURSTS = (1, 8, 64, 512)
COUNTED_SIZE_VARIANTS = ("linux_5_13", "linux_5_14", "linux_5_13_v1", "linux_5_14_v1", "allot")
TIMED_SIZE_VARIANTS = ("null", "linux_5_13", "linux_5_14", "linux_2026", "allot")
PROTECTED_BURST_VARIANTS = ("linux_5_13", "linux_6_0", "linux_6_0_a", "linux_6_0_c", "linux_6_1", "allot")
MESSAGE_VARIANTS = ("null", "linux_6_0", "linux_6_0_a", "linux_6_0_b", "linux_6_0_c", "linux_6_1", "linux_6_16", "allot")
MESSAGE_PAIRS = 36
LEAF_VARIANTS = ("null", "linux_6_1", "linux_6_16", "linux_2026", "allot")
LEAVES = (6, 12, 18, 24, 30, 36)
STATISTICS_VARIANTS = ("linux_5_14_statistics_at_once", "linux_5_14", "linux_2026", "allot")
REASONS = ("size", "node", "owner", "drain", "directly")
LEAST_TCP_ROUNDS = 3  # fewer would not tell the noise
OWN_CPUS = 0.9  # the part of their CPUs' time that threads must have had, not to be disturbed


class Failure(Exception):
    pass


@dataclasses.dataclass(frozen=True)
class Run:
    """One call of a benchmark; equal ones are rounds of the same."""
    benchmark: str
    variant: str
    options: tuple  # words

    def command(self, build, more=()):
        return [str(build / "bench" / self.benchmark), "--variant", self.variant, "--json", *self.options, *more]

    def name(self):
        return " ".join((self.benchmark, self.variant, *self.options))


# The caller's environment without what would change an allocator.
ENVIRONMENT = allocators.Allocator("")


def execute(run, build, more=(), timeout=600, env=None):
    try:
        done = subprocess.run(run.command(build, more), text=True, capture_output=True, timeout=timeout, check=False,
                              env=env or ENVIRONMENT.env())
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failure(f"{run.name()}: {error}") from error
    if done.returncode != 0:
        said = (done.stderr.strip().splitlines() or ["it printed nothing"])[-1]
        raise Failure(f"{run.name()}: exit {done.returncode}: {said}")
    try:
        return json.loads(done.stdout.strip().splitlines()[-1])
    except (IndexError, json.JSONDecodeError) as error:
        raise Failure(f"{run.name()}: no JSON: {error}") from error


class Lab:
    """Runs things, tells how far it is, and keeps every result."""

    def __init__(self, build, rounds, seconds, tell):
        self.build, self.rounds, self.seconds, self.tell = build, rounds, seconds, tell
        self.results = []  # (experiment, Run, result)
        self.disturbed = set()  # Runs of which no round was without others on the CPUs

    def timed(self, experiment, runs, rounds=None):
        """{Run: operations a second in each round}, the runs in turn, each round beginning with another."""
        got = {run: [] for run in runs}
        for turn in range(rounds or self.rounds):
            for index in range(len(runs)):
                run = runs[(index + turn) % len(runs)]
                result = self.one(experiment, run, ("--seconds", str(self.seconds)))
                got[run].append(result["operations_per_second"])
        return got

    def undisturbed(self, experiment, runs, threads):
        """{Run: median operations a second}, of rounds in which the threads had the CPUs for themselves, where there are such:
        two threads in turn share no line. A run is repeated once for each round that was not; `disturbed` has those without."""
        own, others = {run: [] for run in runs}, {run: [] for run in runs}
        busy = min(threads, len(os.sched_getaffinity(0)))
        for _ in range(2 * self.rounds):
            for run in runs:
                if len(own[run]) < self.rounds:
                    result = self.one(experiment, run, ("--seconds", str(self.seconds)))
                    had = result["cpu_seconds"] / (busy * result["seconds"])
                    (own if had >= OWN_CPUS else others)[run].append(result["operations_per_second"])
        self.disturbed |= {run for run in runs if not own[run]}
        return {run: statistics.median(own[run] or others[run]) for run in runs}

    def counted(self, experiment, run, iterations):
        """Counts an operation. What the clock gives back meanwhile would be counted as well, on a machine that is slow."""
        result = self.one(experiment, run, ("--iterations", str(iterations)), ENVIRONMENT.env_for_counting())
        return per_operation(result)

    def one(self, experiment, run, more=(), env=None):
        self.tell(f"{experiment}: {run.name()}")
        result = execute(run, self.build, more, env=env)
        self.results.append((experiment, run, result))
        return result


def per_operation(result):
    """Of a run so short, on a machine so busy, that no operation came to its end: what was counted."""
    operations = result["operations"] or 1
    return {name: count / operations for name, count in result["counts"].items()}


def against(rounds, variant, base="null"):
    """What a variant does less or more than the base, in percent: the median of the rounds' ratios, and half of their range."""
    ratios = [100 * (value / other - 1) for value, other in zip(rounds[variant], rounds[base])]
    return statistics.median(ratios), (max(ratios) - min(ratios)) / 2


# --- experiment 1: pages of messages -----------------------------------------------------------------------------------------

def message_run(benchmark, variant, pairs=MESSAGE_PAIRS, *more):
    return Run(benchmark, variant, ("--pairs", str(pairs), "--protected", *more))


# Counts are the same whatever a message's own work is.
NO_WORK = ("--work", "0")


def leaf_run(variant, leaves, *more):
    return Run("page_pairs", variant, ("--leaves", str(leaves), *more))


# --- experiment 2: kmalloc and kfree ------------------------------------------------------------------------------------------

# The seed's cgroups: two levels below the root, so that v1 walks through three counters; where something is protected, both.
TREE = ("--levels", "2")
PROTECTED_TREE = (*TREE, "--all-protected")


def pair_run(variant, threads, size=4096, burst=1, *more):
    return Run("kmalloc_kfree", variant, ("--threads", str(threads), "--size", str(size), "--burst", str(burst), *(more or TREE)))


def timed_pairs(threads):
    return [pair_run(variant, threads, 4096, 1, *TREE, "--no-statistics") for variant in PAIR_VARIANTS]


# --- experiment 3: updates of statistics -------------------------------------------------------------------------------------

SYNTHETIC = ("--synthetic", "seed")


def statistics_run(variant, *what):
    return Run("replay", variant, what)


def flushed_by_reason(result):
    """Percent of the updates that left the stock, by reason."""
    counts = result["counts"]
    updates = max(counts["statistics"], 1)
    if "flushed_by_size" not in counts:
        return {"slow path": 100 * counts["flushed"] / updates}
    return {reason: 100 * counts["flushed_directly" if reason == "directly" else f"flushed_by_{reason}"] / updates for reason in REASONS}


# --- all of them ---------------------------------------------------------------------------------------------------------------

def count_all(lab):
    """Counts an operation: {"pairs": {variant: …}, "sizes": {(size, burst): {variant: …}}, "protected": …, "messages": …,
    "leaves": {leaves: {variant: …}}}, and {variant: percent by reason} as "statistics", of the synthetic stream."""
    rounds = 4096
    return {
        "pairs": {variant: lab.counted("2 counts", pair_run(variant, 1), rounds) for variant in COUNTED_PAIR_VARIANTS},
        "protected": {variant: lab.counted("2 counts", pair_run(variant, 1, 4096, 512, *PROTECTED_TREE), 64)
                      for variant in PROTECTED_BURST_VARIANTS},
        "messages": {variant: lab.counted("1 counts", message_run("page_pairs", variant, MESSAGE_PAIRS, *NO_WORK), 2000)
                     for variant in MESSAGE_VARIANTS if variant != "null"},
        "leaves": {leaves: {variant: lab.counted("1 counts", leaf_run(variant, leaves, *NO_WORK), 1000 * leaves)
                            for variant in LEAF_VARIANTS if variant != "null"} for leaves in LEAVES},
        "statistics": {variant: flushed_by_reason(lab.one("3", statistics_run(variant, *SYNTHETIC))) for variant in STATISTICS_VARIANTS},
    }


def count_sizes(lab):
    """{(size, burst): {variant: counts of an allocation and its free}}"""
    return {(size, burst): {variant: lab.counted("2 counts", pair_run(variant, 1, size, burst), max(4096 // burst, 8))
                            for variant in COUNTED_SIZE_VARIANTS} for size in SIZES for burst in BURSTS}


def time_all(lab, is_quick):
    """Operations a second, medians: {"pairs": {threads: {variant: …}}, "sizes": …, "leaves": …}; in each round: "messages", "tcp"."""
    def rounds_of(experiment, runs, rounds=None):
        return {run.variant: values for run, values in lab.timed(experiment, runs, rounds).items()}

    def medians_of(experiment, runs):
        return {variant: statistics.median(values) for variant, values in rounds_of(experiment, runs).items()}

    # A thread's own work, found once, is the same for all.
    rounds = lab.one("1", message_run("page_pairs", "null", 1), ("--seconds", "0.1"))["work_rounds"]
    work = ("--work-rounds", str(rounds))
    leaves = LEAVES[::3] if is_quick else LEAVES
    sizes = (64, 4096) if is_quick else SIZES
    return {
        "pairs": {threads: {run.variant: value for run, value in lab.undisturbed("2", timed_pairs(threads), threads).items()}
                  for threads in PAIR_THREADS},
        "sizes": {(size, burst): medians_of("2", [pair_run(v, 1, size, burst) for v in TIMED_SIZE_VARIANTS])
                  for size in sizes for burst in (1, 64)},
        "messages": {pairs: rounds_of("1", [message_run("page_pairs", v, pairs, *work) for v in MESSAGE_VARIANTS])
                     for pairs in (1, MESSAGE_PAIRS)},
        "tcp": rounds_of("1 TCP", [message_run("tcp_pairs", v) for v in MESSAGE_VARIANTS], max(lab.rounds, LEAST_TCP_ROUNDS)),
        "leaves": {k: medians_of("1 leaves", [leaf_run(v, k, *work) for v in LEAF_VARIANTS]) for k in leaves},
    }


def statistics_of_all(lab, directory, is_quick):
    """{stream: {variant: {reason: percent}}}, of traces that are recorded first."""
    streams = {}
    shutil.rmtree(directory, ignore_errors=True)  # of an earlier run
    lab.tell("3: recording")
    command = [str(pathlib.Path(__file__).resolve().parent / "record_traces"), "--build", str(lab.build), str(directory)]
    done = subprocess.run(command + (["--quick"] if is_quick else []), text=True, capture_output=True, check=False)
    if done.returncode != 0:
        raise Failure(f"record_traces: {(done.stderr.strip().splitlines() or ['it printed nothing'])[-1]}")
    for folder in sorted(path for path in directory.iterdir() if path.is_dir()):
        streams[folder.name] = tuple(str(path) for path in sorted(folder.iterdir()))
    return {name: {variant: flushed_by_reason(lab.one("3", statistics_run(variant, *what))) for variant in STATISTICS_VARIANTS}
            for name, what in streams.items()}


def line_transfer(lab):
    """Nanoseconds of a locked addition: at home, and where another CPU has just written the line."""
    def one(where):
        lab.tell(f"4: line_transfer {where}")
        words = subprocess.run([str(lab.build / "bench" / "line_transfer"), where, "--seconds", str(max(lab.seconds, 0.2))],
                               text=True, capture_output=True, check=False).stdout.split()
        if len(words) < 5:
            raise Failure(f"line_transfer {where} printed nothing")
        return float(words[4])  # the best slice: others use the machine as well
    return {"home": one("home"), "moved": one("moved")}
