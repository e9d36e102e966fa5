#!/usr/bin/env python3
"""seeds_test.py SEEDS BUILD: the one command of the experiments, with short runs: what it writes is whole and agrees with itself.

Times are not judged: the runs are too short for that, and others use the machine.
"""
import csv
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from cases import run_all

SEEDS, BUILD = sys.argv[1:3]
CHARTS = {"pairs.svg", "model.svg", "statistics.svg", "messages.svg", "throughput.svg", "leaves.svg"}
SVG = "{http://www.w3.org/2000/svg}"
FOLDER = tempfile.TemporaryDirectory(prefix="allot-seeds-")
RESULTS = pathlib.Path(FOLDER.name)


def seeds(*arguments):
    return subprocess.run([SEEDS, "--build", BUILD, *arguments], text=True, capture_output=True, timeout=600, check=False)


# Once for all cases.
QUICK = seeds("--quick", "--results", str(RESULTS))


def table_of(text, first_cell):
    """Rows of the Markdown table whose head begins so, the head included, as lists of cells."""
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith(f"| {first_cell} |"))
    rows = []
    for line in lines[at:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return [rows[0], *rows[2:]]


def results():
    return json.loads((RESULTS / "seeds.json").read_text(encoding="utf-8"))


def per_operation(benchmark, variant, count, *options):
    """Of the counted runs that have these options, each of which must say the same."""
    with open(RESULTS / "seeds.csv", newline="", encoding="utf-8") as file:
        found = {float(row["per_operation"]) for row in csv.DictReader(file)
                 if (row["benchmark"], row["variant"], row["count"]) == (benchmark, variant, count)
                 and row["experiment"].endswith("counts") and all(option in f"{row['options']} " for option in options)}
    assert len(found) == 1, (benchmark, variant, count, options, found)
    return found.pop()


def test_it_ends_well_and_writes_what_it_says():
    assert QUICK.returncode == 0, QUICK.stderr
    written = {path.name for path in RESULTS.iterdir() if path.is_file()}
    assert written == CHARTS | {"seeds.md", "seeds.csv", "seeds.json"}, written
    assert (RESULTS / "seeds.md").read_text(encoding="utf-8") in QUICK.stdout


def test_it_tells_how_far_it_is():
    assert re.search(r"^ *\d+ s, run \d+: ", QUICK.stderr, re.MULTILINE), QUICK.stderr


def test_the_table_shows_what_the_seeds_claim_and_what_is_counted():
    rows = {row[0]: row[1:] for row in table_of((RESULTS / "seeds.md").read_text(encoding="utf-8"), "counted")}
    assert rows["counted"] == ["seed", "before", "after", "allot"], rows
    assert rows["shared writes of kmalloc and kfree, 4 KiB, v2"] == ["8,478 → 418,142 thousand a second", "4", "0", "0"], rows
    assert rows["the same, v1"][1:3] == ["10", "6"], rows
    seed, at_once, cached, own = rows["updates of statistics that leave the CPU's stock"]
    assert seed == "100 → 20 and 17 %" and at_once == "100 %", rows
    assert 17 <= float(cached.split()[0]) <= 20 and float(own.split()[0]) <= 1, rows


def test_counts_say_the_same_in_every_file():
    pair = ("--threads 1 ", "--size 4096 ", "--burst 1 ")
    for variant, shared in (("linux_5_14_before", 4), ("linux_5_14", 0), ("linux_5_14_before_v1", 10), ("linux_5_14_v1", 6), ("allot", 0)):
        assert per_operation("kmalloc_kfree", variant, "shared", *pair) == shared, variant
    for variant, shared in (("linux_6_0", 0.444), ("linux_6_0_a", 0.190), ("linux_6_1", 0.095)):
        found = per_operation("kmalloc_kfree", variant, "shared", "--burst 512 ", "--all-protected ")
        assert abs(found - shared) <= 0.01 * shared, (variant, found)
    with open(RESULTS / "seeds.csv", newline="", encoding="utf-8") as file:
        rows = {(row["experiment"], row["benchmark"], row["variant"], row["options"]) for row in csv.DictReader(file)}
    runs = results()["runs"]
    assert {(run["experiment"], run["bench"], run["variant"]) for run in runs if run["counts"]} == {row[:3] for row in rows}


def test_each_claim_about_a_count_is_seen():
    claims = results()["claims"]
    counted = [claim for claim in claims if claim["is_counted"]]
    assert len(counted) >= 8 and all(claim["holds"] for claim in counted), counted
    assert any(not claim["is_counted"] for claim in claims)


def test_statistics_of_traces_are_there_by_reason():
    streams = {row[0]: row[1:] for row in table_of((RESULTS / "seeds.md").read_text(encoding="utf-8"), "updates that leave the stock, %, by reason")}
    assert {"synthetic", "g++", "python"} <= set(streams), streams
    for name in set(streams) - {"updates that leave the stock, %, by reason", "seed: after boot, and a kernel build"}:
        at_once, cached, newest, own = (float(cell.split()[0]) for cell in streams[name])
        assert at_once == 100 and 0 < cached <= 20 and newest <= 20 and own <= 1, (name, streams[name])
    assert "size" in streams["synthetic"][1] and "node" in streams["synthetic"][1], streams


def test_the_model_is_called_one_and_says_how_far_it_is_off():
    text = (RESULTS / "seeds.md").read_text(encoding="utf-8")
    assert "## 4. A model" in text and "no measurements" in text
    model = results()["model"]
    fitted = {variant: value / known for variant, value, known in model["pairs"] if known}
    assert abs(fitted["linux_5_14_before"] - 1) < 0.01 and abs(fitted["linux_5_14"] - 1) < 0.01, fitted
    assert all(7 / 8 < part < 9 / 8 for part in fitted.values()), fitted
    known = {variant: value / known for variant, value, known in model["messages"]["rows"] if known}
    assert set(known) == {"linux_6_0", "linux_6_0_a", "linux_6_0_b", "linux_6_0_c", "linux_6_1"}, known
    assert all(3 / 5 < part < 7 / 5 for part in known.values()), known
    assert text.count("fitted |") == 3, text


def test_charts_are_drawings_whose_words_and_shapes_are_inside():
    for name in CHARTS:
        root = xml.etree.ElementTree.parse(RESULTS / name).getroot()
        assert root.tag == f"{SVG}svg", name
        width, height = float(root.get("width")), float(root.get("height"))
        shapes = [*root.iter(f"{SVG}rect"), *root.iter(f"{SVG}polyline")]
        assert len(shapes) > 3 and len(list(root.iter(f"{SVG}text"))) > 5, name
        for text in root.iter(f"{SVG}text"):
            assert 0 <= float(text.get("x")) <= width and 0 <= float(text.get("y")) <= height, (name, text.text)
        for shape in root.iter(f"{SVG}rect"):
            if shape.get("x"):
                assert float(shape.get("x")) + float(shape.get("width")) <= width, (name, shape.attrib)


def test_counts_alone_are_the_same_each_time_and_are_those_of_the_table():
    once = seeds("--counts")
    assert once.returncode == 0, once.stderr
    assert once.stdout.strip() in (RESULTS / "seeds.md").read_text(encoding="utf-8")


def test_wrong_arguments_and_a_build_without_benchmarks_are_told():
    for arguments, word in ((["--rounds", "-1"], "--rounds"), (["--seconds", "x"], "--seconds"), (["--build", str(RESULTS)], "no benchmarks")):
        done = seeds(*arguments)
        assert done.returncode == 2 and word in done.stderr, (arguments, done)


run_all(globals())
