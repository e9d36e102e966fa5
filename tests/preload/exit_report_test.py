"""Reports and warnings of a preloaded program without the command, compared as a whole.

    exit_report_test.py PRELOAD-LIBRARY ENDS-PROGRAM ALLOT
"""
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cases  # noqa: E402

LIBRARY, ENDS, ALLOT = (str(pathlib.Path(argument).resolve()) for argument in sys.argv[1:4])
CLEAN = {k: v for k, v in os.environ.items() if not k.startswith(("ALLOT_", "LD_", "MALLOC_"))}
NAME = pathlib.Path(ENDS).name
EVENTS = {name: 0 for name in ("low", "high", "max", "oom", "oom_kill", "oom_group_kill")}


def run(*arguments, program=ENDS, preexec=None, cwd=None, **settings):
    environment = {**CLEAN, "LD_PRELOAD": LIBRARY, **settings}
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=120, env=environment,
                          preexec_fn=preexec, cwd=cwd)


def table(*rows, width):
    """The lines of a report's table; a row is the first column and what the others hold."""
    def line(first, *others):
        return first.ljust(width) + "".join(f" {other:>9}" for other in others) + "\n"
    return line("tenant", "current", "peak", "max", "refused") + "".join(line(*row) for row in rows)


def pid_of(text):
    return re.search(rf"^  {NAME} \((\d+), exited\) ", text, re.MULTILINE).group(1)


def expected(arguments, current, limit="max", status=7, pid="", refused="0", peak="256.1K"):
    head = f"  {NAME} ({pid}, exited)"
    return (f"allot: {' '.join([ENDS, *arguments])} exited with status {status}\n"
            + table(("  /", current, peak, limit, refused), ("process", "", "peak"), (head, "", peak), width=len(head)))


def expect_report(result, arguments, current="64", status=7, **more):
    assert result.returncode == status and result.stdout == "", result
    text = result.stderr
    assert text == expected(arguments, current, status=status, pid=pid_of(text), **more), text


def test_the_report_is_this():
    expect_report(run(ALLOT_REPORT="1"), [])
    expect_report(run("a", "b c", ALLOT_REPORT="stderr"), ["a", "b c"])
    expect_report(run(ALLOT_CONF="report:1"), [])


def test_nothing_is_written_unless_asked():
    for settings in ({}, {"ALLOT_REPORT": "0"}, {"ALLOT_REPORT": "off"}, {"ALLOT_JSON": "0"}, {"ALLOT_MEMORY_MAX": "16M"}):
        result = run(**settings)
        assert (result.returncode, result.stdout, result.stderr) == (7, "", ""), result


def test_json_is_one_object_on_one_line():
    for settings in ({}, {"ALLOT_REPORT": "1"}):
        result = run("caf\udce9", "a\"b\n", ALLOT_JSON="1", ALLOT_MEMORY_MAX="16M", **settings)
        report = json.loads(result.stderr)
        assert result.stderr.count("\n") == 1, result
        (image,) = report["processes"]
        (root,) = report["tenants"]
        assert image.pop("pid") > 0 and image.pop("peak") == root["peak"], report
        assert image == {"program": NAME, "state": "exited"}, report
        peak, stock = root.pop("peak"), root["stat"].pop("stock")
        counters = {key: root["stat"].pop(key) for key in list(root["stat"]) if key not in ("slab", "objects", "external", "large")}
        assert counters.pop("requested") == 64 and not any(counters.values()), report
        assert 64 <= peak <= 16 << 20 and stock == peak - 64, report
        assert root == {"path": "/", "current": 64, "min": 0, "low": 0, "high": None, "max": 16 << 20, "events": EVENTS,
                        "stat": {"slab": 64, "objects": 1, "external": 0, "large": 0}}, root
        assert report["command"] == [ENDS, "caf\ufffd", "a\"b\n"] and report["status"] == 7, report
        assert list(report) == ["command", "status", "tenants", "processes"], report


def test_it_is_the_report_of_the_command():
    environment = {**CLEAN, "ALLOT_PRELOAD_LIBRARY": LIBRARY}
    for option, settings in (("--report", {"ALLOT_REPORT": "1"}), ("--json", {"ALLOT_JSON": "1"})):
        theirs = subprocess.run([ALLOT, "run", "--max", "16M", option, "--", ENDS, "late"], capture_output=True, text=True,
                                timeout=120, env=environment).stderr
        ours = run("late", ALLOT_MEMORY_MAX="16M", **settings).stderr
        # From outside nobody knows what was asked for, or what the process's allocator keeps.
        known_inside = r'"(requested|cache|overhead|resident)":\d+'
        texts = [re.sub(known_inside, "", re.sub(r"\(\d+,|\"pid\":\d+", "", text)) for text in (theirs, ours)]
        texts = [re.sub(r" +", " ", text) for text in texts]
        assert texts[0] == texts[1] != "", texts


def test_tenants_come_as_a_tree_and_refusals_are_counted():
    result = run("refused", ALLOT_REPORT="1", ALLOT_MEMORY_MAX="16M",
                 ALLOT_TREE="/b-a memory.max=5M;/b/c memory.max=12999999999;/b")
    pid = pid_of(result.stderr)
    head = f"  {NAME} ({pid}, exited)"
    peak = result.stderr.splitlines()[2].split()[2]
    assert result.stderr == f"allot: {ENDS} refused exited with status 7\n" + table(
        ("  /", "64", peak, "16M", "1"), ("    b", "0", "0", "max", "0"), ("      c", "0", "0", "12.1G", "0"),
        ("    b-a", "0", "0", "5M", "0"), ("process", "", "peak"), (head, "", peak), width=len(head)), result


def test_what_is_allocated_at_the_end_counts():
    expect_report(run("late", ALLOT_REPORT="1"), ["late"], current="128")


def test_ends_that_do_not_pass_by_exit_report_nothing():
    assert (run("_exit", ALLOT_REPORT="1").returncode, run("_exit", ALLOT_REPORT="1").stderr) == (7, "")
    killed = run("killed", ALLOT_REPORT="1")
    assert (killed.returncode, killed.stderr) == (-9, ""), killed


def test_a_forked_child_reports_its_own():
    result = run("forks", ALLOT_REPORT="1")
    lines = result.stderr.splitlines(keepends=True)
    first, second = "".join(lines[:5]), "".join(lines[5:])
    assert pid_of(first) != pid_of(second), result
    assert first == expected(["forks"], "128", status=4, pid=pid_of(first)), result
    assert second == expected(["forks"], "64", pid=pid_of(second)), result


def test_a_closed_standard_error_is_no_obstacle():
    expect_report(run("closes", ALLOT_REPORT="1"), ["closes"])


def test_a_file_that_took_the_number_of_standard_error_is_left_alone():
    with tempfile.TemporaryDirectory() as folder:
        own = f"{folder}/own"
        expect_report(run("replaces", own, ALLOT_REPORT="1"), ["replaces", own])
        assert pathlib.Path(own).read_bytes() == b""


def test_without_any_standard_error_the_status_stands():
    result = run("closes_all", ALLOT_REPORT="1")
    assert (result.returncode, result.stderr) == (7, ""), result
    started_without = run(ALLOT_REPORT="1", preexec=lambda: os.close(2))
    assert (started_without.returncode, started_without.stderr) == (7, ""), started_without


def test_a_reader_that_has_gone_changes_no_status():
    with subprocess.Popen([ENDS, "breaks_pipe"], stderr=subprocess.PIPE,
                          env={**CLEAN, "LD_PRELOAD": LIBRARY, "ALLOT_REPORT": "1"}) as process:
        process.stderr.close()
        assert process.wait(timeout=60) == 7


def test_a_command_line_that_is_overwritten_is_still_reported():
    expect_report(run("renames", ALLOT_REPORT="1"), ["renames"])


def test_a_long_command_line_is_cut():
    lines = run("x" * 100000, ALLOT_REPORT="1").stderr.splitlines()
    assert re.fullmatch(rf"allot: {re.escape(ENDS)} x+\.\.\. exited with status 7", lines[0]), lines[0][-80:]
    assert len(lines[0]) < 20000 and len(lines) == 5, lines[1:]


def test_a_file_gets_it_with_the_id_in_its_name_wherever_the_program_went():
    with tempfile.TemporaryDirectory() as folder:
        result = run("moves", ALLOT_REPORT="r.%p", cwd=folder)
        (file,) = pathlib.Path(folder).iterdir()
        text = file.read_text()
        assert (result.returncode, result.stdout, result.stderr) == (7, "", ""), result
        assert file.name == f"r.{pid_of(text)}" and text == expected(["moves"], "64", pid=pid_of(text)), text
        run(ALLOT_REPORT=f"{folder}/{file.name}")  # absolute, and what was there is replaced
        assert file.read_text() == expected([], "64", pid=pid_of(file.read_text())), file.read_text()


def test_symbolic_links_are_not_followed():
    with tempfile.TemporaryDirectory() as folder:
        target, link = pathlib.Path(folder, "target"), pathlib.Path(folder, "link")
        target.write_text("precious")
        link.symlink_to(target)
        result = run(ALLOT_REPORT=str(link))
        assert target.read_text() == "precious"
        assert (result.returncode, result.stderr) == (7, f"allot: the report cannot be written to {link} (error 40)\n"), result


def test_under_a_hierarchy_the_command_alone_reports():
    with tempfile.TemporaryDirectory() as folder:
        result = run(ALLOT_REPORT="1", ALLOT_DIR=folder, ALLOT_HIERARCHY="h")
        assert (result.returncode, result.stderr) == (7, ""), result
    under = subprocess.run([ALLOT, "run", "--", ENDS], capture_output=True, text=True, timeout=120,
                           env={**CLEAN, "ALLOT_PRELOAD_LIBRARY": LIBRARY, "ALLOT_REPORT": "1", "ALLOT_JSON": "1"})
    assert (under.returncode, under.stderr) == (7, ""), under


def test_what_was_mapped_uncounted_is_told():
    report = run("maps", ALLOT_REPORT="1", ALLOT_ACCOUNT="heap").stderr
    assert report.endswith("\n    mapped and not counted: 1.0M, at most 3.0M\n"), report
    figures = json.loads(run("maps", ALLOT_JSON="1", ALLOT_ACCOUNT="heap").stderr)
    assert figures["processes"][0]["uncounted"] == {"current": 1 << 20, "peak": 3 << 20}, figures
    assert "not counted" not in run("maps", ALLOT_REPORT="1").stderr


def test_the_command_tells_it_of_a_killed_program_too():
    script = "import mmap, os, signal; m = mmap.mmap(-1, 64 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\nos.kill(os.getpid(), signal.SIGKILL)"
    result = subprocess.run([ALLOT, "run", "--account", "heap", "--json", "--", "/usr/bin/python3", "-c", script], capture_output=True,
                            text=True, timeout=120, env={**CLEAN, "ALLOT_PRELOAD_LIBRARY": LIBRARY})
    (image,) = json.loads(result.stderr)["processes"]
    assert result.returncode == 137 and image["state"] == "ended", result
    assert 64 << 20 <= image["uncounted"]["current"] <= image["uncounted"]["peak"] <= 256 << 20, image


def test_the_banner_says_what_is_in_force():
    result = run(ALLOT_VERBOSE="1", ALLOT_MEMORY_MAX="16M", ALLOT_TENANT="/web", ALLOT_ACCOUNT="heap", ALLOT_OOM="abort")
    assert re.fullmatch(rf"allot: pid \d+ \({NAME}\) in tenant /web: max 16M, high max, low 0, min 0, "
                        r"malloc alone is charged, a refusal aborts\n", result.stderr), result
    forked = run("forks", ALLOT_CONF="verbose:1")
    assert forked.stderr.count("allot: pid ") == 1 and forked.stderr.count("\n") == 1, forked


def test_an_excluded_program_with_a_limit_gets_one_warning():
    result = run("forks", ALLOT_EXCLUDE=NAME, ALLOT_MEMORY_MAX="16M", ALLOT_REPORT="1")
    assert (result.returncode, result.stderr) == (7, f"allot: warning: {NAME} runs without limits: it is excluded\n"), result
    by_tree = run(ALLOT_EXCLUDE=NAME, ALLOT_TREE="/web memory.max=1M")
    assert by_tree.stderr == f"allot: warning: {NAME} runs without limits: it is excluded\n", by_tree
    assert run(ALLOT_EXCLUDE=NAME).stderr == ""


def test_without_memory_for_the_books_there_is_one_warning():
    # Which bound lets the program start and accounting not is a matter of kilobytes: the first that lets it start is.
    for kilobytes in range(1000, 6000, 50):
        bound = (kilobytes << 10, kilobytes << 10)
        result = run("late", ALLOT_MEMORY_MAX="16M", preexec=lambda: resource.setrlimit(resource.RLIMIT_DATA, bound))
        if result.stderr.startswith("allot: warning: "):
            break
        assert result.returncode != 7, f"limits hold with {kilobytes} K, and never did they not"
    assert re.fullmatch(rf"allot: warning: ({NAME}|process \d+) runs without limits: there is no memory for its books\n"
                        + r"(.*\n)?", result.stderr), result  # its own malloc may fail as well
    assert result.stderr.count("allot:") == 1, result


def test_a_program_with_more_rights_than_its_user_obeys_nobodys_environment():
    # The loader drops a preload there; a library that is linked is loaded, and has to look for itself.
    source = ("#include <stdlib.h>\n#include <sys/auxv.h>\n"
              "int main(void) { void *volatile p = malloc(32 << 20); return !getauxval(AT_SECURE) ? 77 : p ? 7 : 1; }")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        library, linked, plain = f"{folder}/liballot-preload.so", f"{folder}/linked", f"{folder}/plain"
        shutil.copy(LIBRARY, library)
        os.chmod(library, 0o755)
        for program, more in ((plain, []), (linked, ["-Wl,--no-as-needed", library, f"-Wl,-rpath,{folder}"])):
            subprocess.run(["cc", "-x", "c", "-", "-o", program, "-Wl,-z,now", "-x", "none", *more], input=source, text=True, check=True)
            settings = {"ALLOT_MEMORY_MAX": "16M", "ALLOT_REPORT": "1", "ALLOT_VERBOSE": "1"}
            obeyed = subprocess.run([program], capture_output=True, text=True, timeout=60, env={**CLEAN, **settings, "LD_PRELOAD": library})
            assert obeyed.returncode == 77 and obeyed.stderr.count("allot: ") == 2, obeyed
            if os.geteuid() == 0:
                os.chown(program, 65534, 65534)
            os.chmod(program, 0o6755)
            result = subprocess.run([program], capture_output=True, text=True, timeout=60, env={**CLEAN, **settings, "LD_PRELOAD": library})
            if result.returncode == 77:
                print(f"     no more rights to be had in {folder}: skipped")
                return
            assert (result.returncode, result.stderr) == (7, ""), result


cases.run_all(globals())
