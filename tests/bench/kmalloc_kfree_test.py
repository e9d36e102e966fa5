#!/usr/bin/env python3
"""kmalloc_kfree_test.py BENCHMARK STEP OPTIMIZATION: what pairs and bursts are counted for under the slab allocator, with each engine.

Counts alone, which do not depend on the machine; the engine's own are in tests/accounting/linux/releases_test.cpp.
"""
import json
import os
import pathlib
import platform
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from cases import run_all

BENCHMARK, STEP, OPTIMIZATION = sys.argv[1:4]


def run(*arguments):
    return subprocess.run([BENCHMARK, *map(str, arguments)], text=True, capture_output=True, timeout=120, check=False)


def result(variant, bursts, *arguments):
    done = run("--variant", variant, "--iterations", bursts, "--json", *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def per_pair(variant, count="shared", bursts=1000, burst=1, arguments=()):
    found = result(variant, bursts, "--burst", burst, "--levels", 2, *arguments)
    return found["counts"][count] / found["operations"]


def near(found, expected, within=0.01):
    assert abs(found - expected) <= within * expected, f"{found} instead of {expected}"


def test_a_pair_of_4_KiB_writes_4_shared_words_before_5_14_and_none_since():
    for variant, shared in (("linux_5_13", 4), ("linux_5_14_before", 4), ("linux_5_14", 0), ("linux_2026", 0)):
        found = per_pair(variant)
        assert found == shared, f"{variant}: {found}"


def test_with_v1s_second_counters_it_is_10_before_and_6_since():
    assert per_pair("linux_5_14_before_v1") == 10
    assert per_pair("linux_5_14_v1") == 6


def test_each_thread_is_a_cpu_and_counts_the_same():
    found = result("linux_5_14_before", 500, "--threads", 5)
    assert found["operations"] == 5 * 500
    assert found["counts"]["shared"] == 4 * found["operations"]
    assert found["counts"]["statistics"] == 2 * found["operations"]
    assert found["counts"]["flushed"] == 0


def test_a_burst_of_512_with_protection_shows_A_and_C():
    for variant, shared in (("linux_6_0", 0.444), ("linux_6_0_a", 0.190), ("linux_6_1", 0.095)):
        near(per_pair(variant, bursts=64, burst=512, arguments=["--all-protected"]), shared)


def test_bursts_of_small_objects_write_the_owners_line_before_and_not_since():
    for size, burst, before in ((64, 64, 0.03), (256, 64, 0.13), (1024, 8, 0.5), (2048, 8, 1), (4096, 8, 3.75), (8192, 64, 3.97)):
        arguments = ["--size", size]
        found = per_pair("linux_5_13", "spare_bytes", 256, burst, arguments)
        assert abs(found - before) <= 0.0051, f"{size} bytes, bursts of {burst}: {found} instead of {before}"
        assert per_pair("linux_5_14", "spare_bytes", 256, burst, arguments) == 0


def test_statistics_can_be_left_out():
    found = result("linux_5_14_before", 100, "--no-statistics")
    assert found["counts"]["statistics"] == found["counts"]["flushed"] == 0
    assert found["counts"]["shared"] == 4 * found["operations"]


def test_allot_writes_no_shared_word_and_takes_no_slow_path_with_statistics_kept():
    for size in (64, 4096, 8192):
        found = result("allot", 10000, "--threads", 2, "--size", size, "--protected")
        counts = found["counts"]
        assert counts["shared"] == counts["slow_paths"] == counts["flushed"] == counts["own_locked"] == 0, counts
        assert counts["statistics"] == 2 * found["operations"]


def test_bursts_of_2_MiB_go_to_the_tree_no_more_once_allot_has_seen_them():
    counts = result("allot", 64, "--burst", 512, "--levels", 2, "--all-protected")["counts"]
    assert counts["slow_paths"] == counts["walks"] == counts["usage"] == counts["peaks"] == counts["protection"] == 0, counts


def test_allot_charges_a_level_once_a_batch_where_bursts_are_larger_than_the_swing_it_keeps():
    bursts, pages = 8, 8192  # 32 MiB, of which 16 and two batches of 64 pages are kept
    counts = result("allot", bursts, "--burst", pages, "--levels", 2, "--all-protected")["counts"]
    beyond = (pages - 4096) // 64
    assert 2 * bursts * (beyond - 3) <= counts["walks"] <= 2 * bursts * beyond, counts
    assert counts["slow_paths"] == counts["walks"], counts
    assert counts["usage"] == 3 * counts["walks"], counts  # the root and two below
    assert counts["protection"] == 0, counts  # usage stays above what is protected
    assert counts["shared"] == counts["usage"] + counts["peaks"] + counts["references"]


def executed(*arguments):
    """What the processor did for the counted rounds: instructions, locked, fences, system_calls."""
    command = [STEP, "--", BENCHMARK, "--traps", *map(str, arguments)]
    # One step takes so long that free memory would go back by the clock meanwhile.
    environment = os.environ | {"ALLOT_PURGE_DELAY_MS": "max"}
    done = subprocess.run(command, text=True, capture_output=True, timeout=120, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    words = done.stdout.split()
    return {words[i]: int(words[i + 1]) for i in range(0, 8, 2)}


def test_allots_pair_has_no_locked_instruction_in_fact():
    if platform.machine() != "x86_64":
        return
    found = executed("--variant", "allot", "--iterations", 50)
    assert found["instructions"] > 50 * 20, found
    assert found["locked"] == found["fences"] == found["system_calls"] == 0, found


def test_what_is_counted_for_allot_is_what_is_executed():
    if platform.machine() != "x86_64":
        return
    arguments = ("--burst", 3072, "--size", 8192)  # more than a swing that is kept
    counts = result("allot", 1, *arguments)["counts"]
    locked = executed("--variant", "allot", "--iterations", 1, *arguments)["locked"]
    # A slab that comes or goes takes the allocator's lock of free memory and gives it back, and one reference.
    of_allocator = 2 * counts["references"]
    assert counts["references"] > 0 and counts["usage"] > 0
    expected = counts["shared"] + counts["own_locked"] + of_allocator
    # Unoptimised, the order of an atomic operation is a variable, and each store becomes the strongest one, which locks.
    assert locked == expected or (OPTIMIZATION == "0" and locked > expected), (locked, counts)


def test_what_is_counted_for_linux_is_what_is_executed():
    if platform.machine() != "x86_64":
        return
    for variant in ("linux_5_14_before", "linux_5_14_v1"):
        counts = result(variant, 5)["counts"]
        locked = executed("--variant", variant, "--iterations", 5)["locked"]
        # References are counted, and executed as a living cgroup's: by CPU.
        assert locked == counts["shared"] - counts["references"] > 0, (locked, counts)


def test_who_does_not_count_is_counted_for_nothing():
    assert result("null", 1000)["counts"] == {}
    assert result("linux_none", 1000)["counts"]["shared"] == 0
    assert result("linux_none", 1000)["counts"]["statistics"] == 0


def test_the_result_names_every_parameter():
    found = result("linux_6_1", 8, "--threads", 2, "--size", 128, "--burst", 4, "--levels", 5, "--protected")
    expected = {"bench": "kmalloc_kfree", "variant": "linux_6_1", "threads": 2, "size": 128, "burst": 4, "levels": 5,
                "protected": True, "no_statistics": False, "iterations": 8, "operations": 2 * 8 * 4}
    assert {key: found[key] for key in expected} == expected, found
    assert found["operations_per_second"] > 0 and found["seconds"] > 0


def test_an_unknown_variant_is_named_with_those_that_there_are():
    done = run("--variant", "linux_4_2")
    assert done.returncode == 2
    assert "linux_4_2" in done.stderr and "linux_5_14_before_v1" in done.stderr and "allot" in done.stderr


def test_the_last_line_is_the_figure():
    done = run("--threads", 2, "--size", 4096, "--variant", "linux_6_1", "--seconds", "0.05")
    assert done.returncode == 0, done.stderr
    figure, unit = done.stdout.splitlines()[-1].split()
    assert unit == "kops/s" and int(figure) > 0


run_all(globals())
