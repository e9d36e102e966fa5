"""allot run with the real library: statuses, signals, reports, warnings, and what is left behind.

    run_test.py ALLOT PRELOAD-LIBRARY
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cases  # noqa: E402

ALLOT, LIBRARY = sys.argv[1], str(pathlib.Path(sys.argv[2]).resolve())
ENVIRONMENT = {**{k: v for k, v in os.environ.items() if not k.startswith("ALLOT_")}, "ALLOT_PRELOAD_LIBRARY": LIBRARY}


def run(*arguments, **more):
    environment = {**ENVIRONMENT, **more}
    return subprocess.run([ALLOT, "run", *arguments], capture_output=True, text=True, timeout=120, env=environment)


def report_of(*arguments):
    result = run("--json", *arguments)
    return result, json.loads(result.stderr.splitlines()[-1])


def test_the_status_is_the_commands():
    assert run("--", "sh", "-c", "exit 7").returncode == 7
    assert run("--", "sh", "-c", "kill -9 $$").returncode == 128 + 9
    missing = run("--", "no-such-program")
    assert missing.returncode == 127 and missing.stderr == "allot: no-such-program: not found\n", missing
    forbidden = run("--", "/etc/passwd")
    assert forbidden.returncode == 126 and forbidden.stderr == "allot: /etc/passwd: Permission denied\n", forbidden


def test_a_failure_of_allot_itself_is_125():
    for result in (run("--", "true", ALLOT_PRELOAD_LIBRARY="/nowhere.so"), run("--dir", "/nowhere/at/all", "--", "true"),
                   run("--report=/nowhere/at/all", "--", "true")):
        assert result.returncode == 125 and result.stderr.startswith("allot: ") and result.stderr.count("\n") == 1, result


def test_nothing_is_said_unless_asked():
    result = run("--max", "64M", "--", "sh", "-c", "echo out; echo err >&2")
    assert (result.stdout, result.stderr) == ("out\n", "err\n"), result


def test_what_does_not_fit_is_refused_and_reported():
    result, report = report_of("--max", "64M", "--", "/usr/bin/python3", "-c", "bytearray(1 << 30)")
    assert result.returncode == 1 and "MemoryError" in result.stderr, result
    assert report["command"] == ["/usr/bin/python3", "-c", "bytearray(1 << 30)"] and report["status"] == 1
    (root,) = report["tenants"]
    assert root["path"] == "/" and root["max"] == 64 << 20 and root["high"] is None, root
    assert 0 < root["current"] <= root["peak"] <= 64 << 20 and root["events"]["oom"] >= 1, root
    (process,) = report["processes"]
    assert process["program"].startswith("python3") and process["state"] == "exited", process
    assert 0 < process["peak"] <= root["peak"], process


def test_each_program_image_is_reported_and_a_killed_one_too():
    # The shell grows by a builtin alone, is killed, and what it had is read afterwards.
    script = 'ls / >/dev/null; x=$(printf %01000000d 1); kill -9 $$'
    result, report = report_of("--", "sh", "-c", script)
    assert result.returncode == 137 and report["status"] == 137, result
    programs = [process["program"] for process in report["processes"]]
    assert "ls" in programs and any(process["state"] == "ended" for process in report["processes"]), report
    peaks = [process["peak"] for process in report["processes"]]
    assert max(peaks) >= 1000000 and report["tenants"][0]["peak"] >= max(peaks), report


def test_the_limit_holds_for_the_sum_of_processes():
    hold = "import sys; x = bytearray(40 << 20); sys.stdin.read()"
    script = f"sleep 5 | /usr/bin/python3 -c '{hold}' & sleep 1; echo | /usr/bin/python3 -c '{hold}'; echo $?"
    result, report = report_of("--max", "64M", "--", "sh", "-c", script)
    assert result.stdout == "1\n" and "MemoryError" in result.stderr, result
    (root,) = report["tenants"]
    assert 40 << 20 <= root["peak"] <= 64 << 20 and root["events"]["oom"] >= 1, root


def test_the_limits_of_a_tree_are_in_force():
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder, "tree.toml")
        tree.write_text('["/shop"]\n"memory.max" = "96M"\n["/shop/a"]\nmemory.max = "50%"\n["/shop/b"]\n')
        result, report = report_of("--tenant", "/shop/a", "--tree", str(tree), "--", "/usr/bin/python3", "-c", "bytearray(60 << 20)")
    assert result.returncode == 1, result
    limits = {tenant["path"]: tenant["max"] for tenant in report["tenants"]}
    # A percentage is of the parent's limit.
    assert limits == {"/": None, "/shop": 96 << 20, "/shop/a": 48 << 20, "/shop/b": None}, limits


def test_an_excluded_program_is_not_counted():
    result, report = report_of("--max", "64M", "--exclude", "sh", "--", "sh", "-c", "ls / >/dev/null; exit 0")
    assert result.returncode == 0, result
    assert [process["program"] for process in report["processes"]] == ["ls"], report


def test_the_report_goes_to_a_file_with_the_id_in_its_name():
    with tempfile.TemporaryDirectory() as folder:
        result = run(f"--report={folder}/r.%p", "--max", "64M", "--", "sh", "-c", "exit 0")
        (file,) = pathlib.Path(folder).iterdir()
        text = file.read_text()
    assert result.stderr == "" and re.fullmatch(r"r\.\d+", file.name), (result, file)
    assert text.startswith("allot: sh -c exit 0 exited with status 0\ntenant "), text
    assert re.search(r"^  / +\S+ +\S+ +64M +0$", text, re.MULTILINE), text


def test_limits_that_cannot_hold_are_told_in_one_line():
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/static"
        subprocess.run(["cc", "-static", "-o", program, "-x", "c", "-"], input="int main(void) { return 5; }", text=True, check=True)
        limited = run("--max", "64M", "--", program)
        assert limited.returncode == 5, limited
        assert limited.stderr.startswith(f"allot: warning: {program} runs without limits: it is statically linked"), limited
        assert limited.stderr.count("\n") == 1, limited
        assert run("--", program).stderr == ""


def test_what_is_preloaded_already_stays():
    result = run("--", "sh", "-c", "echo $LD_PRELOAD", LD_PRELOAD="libm.so.6")
    assert result.stdout == f"{LIBRARY}:libm.so.6\n", result


def test_settings_of_the_environment_hold_and_options_override_them():
    one = run("--verbose", "--", "true", ALLOT_MEMORY_MAX="5M", ALLOT_OOM="abort")
    assert "max 5M" in one.stderr and "aborts" in one.stderr, one
    other = run("--verbose", "--max", "6M", "--", "true", ALLOT_MEMORY_MAX="5M")
    assert "max 6M" in other.stderr, other


def test_the_folder_of_the_books_is_that_of_the_option_else_of_the_environment():
    with tempfile.TemporaryDirectory() as folder:
        inherited = run("--", "sh", "-c", "echo $ALLOT_DIR", ALLOT_DIR=f"{folder}/one")
        given = run("--dir", f"{folder}/two", "--", "sh", "-c", "echo $ALLOT_DIR", ALLOT_DIR=f"{folder}/one")
        assert (inherited.stdout, given.stdout) == (f"{folder}/one\n", f"{folder}/two\n"), (inherited, given)


def test_signals_reach_the_command():
    with subprocess.Popen([ALLOT, "run", "--", "sh", "-c", "trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done"],
                          stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 9


def test_a_hierarchy_with_a_name_is_joined_by_later_commands_and_stays():
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["--dir", f"{folder}/dir", "--hierarchy", "web"]

        def allot(*words):
            return subprocess.run([ALLOT, *words, *arguments], capture_output=True, text=True, timeout=60, env=ENVIRONMENT)

        with subprocess.Popen([ALLOT, "run", *arguments, "--tenant", "/a", "--max", "64M", "--", "sh", "-c", "echo ready; read line"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as process:
            assert process.stdout.readline() == "ready\n"
            assert allot("get", "/a", "memory.max").stdout == f"{64 << 20}\n"
            assert int(allot("get", "/", "memory.current").stdout) > 0
            assert allot("rm").stderr.startswith("allot: hierarchy web: ") or allot("rm").returncode == 2
            result, report = report_of(*arguments, "--tenant", "/b", "--", "true")
            assert [tenant["path"] for tenant in report["tenants"]] == ["/", "/a", "/b"], report
            assert [p["program"] for p in report["processes"]] == ["true"], report
            process.communicate("\n", timeout=30)
        assert allot("get", "/", "memory.current").stdout == "0\n"
        assert allot("rm").returncode == 0
        assert list(pathlib.Path(folder, "dir").iterdir()) == []


def test_nothing_is_left_behind():
    with tempfile.TemporaryDirectory() as folder:
        assert run("--dir", f"{folder}/dir", "--", "true").returncode == 0
        assert list(pathlib.Path(folder).iterdir()) == []


def test_a_folder_that_was_missing_goes_with_the_last_run():
    with tempfile.TemporaryDirectory() as folder:
        books = pathlib.Path(folder, "books")
        inner = [ALLOT, "run", "--dir", str(books), "--", "true"]
        assert run("--dir", str(books), "--", *inner).returncode == 0
        assert not books.exists()
        books.mkdir(mode=0o700)
        assert run("--dir", str(books), "--", "true").returncode == 0
        assert list(books.iterdir()) == []


def test_of_an_option_given_twice_the_last_counts():
    result, report = report_of("--max", "5M", "--max", "64M", "--", "true")
    assert result.returncode == 0 and report["tenants"][0]["max"] == 64 << 20, report


def test_help_names_the_command():
    assert "Usage: allot run [OPTION]... -- COMMAND [ARG]...\n" in run("--help").stdout


cases.run_all(globals())
