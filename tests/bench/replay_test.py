#!/usr/bin/env python3
"""replay_test.py REPLAY ALLOT PRELOAD-LIBRARY RECORD: how many updates of statistics are flushed, of streams that are known by
arithmetic, of the one that is made after the kernel's, and of recorded programs.

Counts alone, which do not depend on the machine.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from cases import run_all

REPLAY, ALLOT, LIBRARY, RECORD = sys.argv[1:5]
CACHING = ("linux_5_14", "linux_6_1", "linux_2026", "linux_5_14_v1")
REASONS = ("size", "node", "owner", "drain")


def run(*arguments):
    return subprocess.run([REPLAY, *map(str, arguments)], text=True, capture_output=True, timeout=300, check=False)


def counts(variant, *arguments):
    done = run("--variant", variant, "--json", *arguments)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["bench"] == "replay" and result["variant"] == variant and result["operations"] > 0, result
    return result["counts"]


def flushed(found):
    """Per cent of the updates."""
    every = found["flushed"] if "flushed" in found else found["flushed_directly"] + sum(found[f"flushed_by_{r}"] for r in REASONS)
    return 100 * every / found["statistics"]


def recorded(folder, *command, **more):
    file = pathlib.Path(folder, "trace")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("ALLOT_")}
    done = subprocess.run([ALLOT, "run", "--trace", file, "--", *command], capture_output=True, text=True, timeout=300, check=False,
                          env={**environment, "ALLOT_PRELOAD_LIBRARY": str(pathlib.Path(LIBRARY).resolve()), **more})
    assert done.returncode == 0 and done.stderr == "", done
    return file


def test_equal_allocations_are_flushed_with_every_page_and_one_more():
    for cost in (9, 72, 104, 200, 264, 584, 1032, 2056, 4104, 8200):
        period = 4096 // cost + 1 if cost <= 4096 else 2
        for variant in CACHING:
            found = counts(variant, "--synthetic", f"alloc-{cost}", "--updates", 50 * period)
            assert found["statistics"] == 50 * period and found["flushed_by_size"] == 50, (variant, cost, found)
            assert flushed(found) == 100 / period, (variant, cost, found)
    for cost, percent in ((104, 2.5), (200, 4.8), (264, 6.3), (584, 12.5), (1032, 25), (2056, 50), (4104, 50)):
        found = flushed(counts("linux_5_14", "--synthetic", f"alloc-{cost}", "--updates", 420000))
        assert abs(found - percent) <= 0.05, (cost, found)


def test_objects_that_are_freed_at_once_flush_nothing():
    for cost in (104, 1032, 4104, 8200):
        for variant in CACHING:
            assert flushed(counts(variant, "--synthetic", f"pair-{cost}")) == 0, (variant, cost)


def test_without_a_cache_every_update_gets_through():
    for variant in ("linux_5_13", "linux_5_14_statistics_at_once"):
        assert flushed(counts(variant, "--synthetic", "seed")) == 100, variant


def test_of_the_kernels_kind_of_stream_17_to_20_per_cent_get_through_and_of_allots_less_than_1():
    for variant in (*CACHING, "linux_5_14_before"):
        found = counts(variant, "--synthetic", "seed")
        assert 17 <= flushed(found) <= 20, (variant, flushed(found))
        assert all(found[f"flushed_by_{reason}"] > 0 for reason in ("size", "node", "owner")), found
    # What drains byte stocks flushes too: one reason more before the stock kept what is in excess of a page.
    assert counts("linux_5_14_before", "--synthetic", "seed")["flushed_by_drain"] > 0
    assert counts("linux_5_14", "--synthetic", "seed")["flushed_by_drain"] == 0
    found = counts("allot", "--synthetic", "seed")
    assert found["statistics"] == 100000 and 0 < flushed(found) <= 1, found


def test_the_mix_is_stated_and_a_stream_is_the_same_in_every_run():
    shown = run("--synthetic", "seed", "--variant", "linux_5_14").stdout
    assert "of 100 allocations 20 dentry of 192 bytes (reclaimable, kept)" in shown and "lie on the other node" in shown, shown
    assert counts("linux_5_14", "--synthetic", "seed") == counts("linux_5_14", "--synthetic", "seed")
    once, thrice = (counts("linux_5_14", "--synthetic", "seed", "--iterations", n) for n in (1, 3))
    assert {name: 3 * count for name, count in once.items()} == thrice


def test_a_trace_of_a_program_is_fed_to_every_engine():
    with tempfile.TemporaryDirectory(prefix="allot-replay-") as folder:
        trace = recorded(folder, "/usr/bin/python3", "-S", "-c", "x = [str(i) * (i % 40) for i in range(20000)]", PYTHONMALLOC="malloc")
        operations = json.loads(subprocess.run([ALLOT, "trace", "--json", trace], capture_output=True, text=True, check=True).stdout)["all"]
        linux, own = counts("linux_5_14", trace), counts("allot", trace)
        # In place resizes that change what is charged are two updates; blocks above a slab's are pages in Linux, and no updates.
        assert own["statistics"] >= operations["alloc"] + operations["free"] - 10, (own, operations)
        assert 0.9 * own["statistics"] < linux["statistics"] <= own["statistics"], (linux, own)
        assert 0 < flushed(linux) <= 20 and flushed(own) <= 1, (flushed(linux), flushed(own))
        assert linux["flushed_by_node"] == linux["flushed_by_owner"] == 0, linux  # one thread stays on its CPU
        assert counts("linux_5_14", "--migrate", 1, trace)["flushed_by_node"] > 0
        assert flushed(counts("linux_5_14_statistics_at_once", trace)) == 100
        assert counts("null", trace) == {"shared": 0}


def test_programs_of_a_tree_share_cpus_and_may_be_owners_of_their_own():
    with tempfile.TemporaryDirectory(prefix="allot-replay-") as folder:
        script = "for i in 1 2 3; do seq 1 2000 | sort -R | awk '{ x[$1] = $1 } END { print length(x) }' >/dev/null & done; wait"
        trace = recorded(folder, "sh", "-c", script)
        by_tenant, by_image = (counts("linux_5_14", "--cpus", 1, "--owners", rule, trace) for rule in ("tenant", "image"))
        assert by_tenant["flushed_by_owner"] == 0 and by_tenant["flushed_by_node"] == 0, by_tenant
        assert by_image["flushed_by_owner"] > 0, by_image


def test_traces_of_real_programs_are_recorded_and_stay_below_a_fifth():
    with tempfile.TemporaryDirectory(prefix="allot-replay-") as folder:
        build = pathlib.Path(ALLOT).resolve().parents[1]
        done = subprocess.run([RECORD, "--quick", "--build", build, folder], capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stderr
        programs = sorted(path.name for path in pathlib.Path(folder).iterdir())
        assert {"g++", "python"} <= set(programs), programs
        for name in programs:
            files = sorted(pathlib.Path(folder, name).iterdir())
            for variant in ("linux_5_14_before", "linux_5_14", "linux_2026"):
                assert flushed(counts(variant, *files)) <= 20, (name, variant)
            assert flushed(counts("allot", *files)) <= 1, name


def test_wrong_arguments_are_told():
    for arguments, word in ((["--variant", "linux_9"], "linux_5_14"), (["--synthetic", "alloc-1"], "alloc-N"), (["--synthetic", "x"], "seed"),
                            ([], "--synthetic"), (["/no/such/trace"], "No such file"), (["--owners", "who", "x"], "tenant")):
        done = run("--variant", "allot", *arguments, *(["--synthetic", "seed"] if arguments[:1] == ["--variant"] else []))
        assert done.returncode == 2 and word in done.stderr and done.stderr.count("\n") == 1, (arguments, done)


run_all(globals())
