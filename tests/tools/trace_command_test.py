"""Programs that are recorded, and what allot trace says of them.

    trace_command_test.py ALLOT PRELOAD-LIBRARY
"""
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cases  # noqa: E402

ALLOT, LIBRARY = (str(pathlib.Path(argument).resolve()) for argument in sys.argv[1:3])
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("ALLOT_")}
PYTHON = ["/usr/bin/python3", "-s", "-S", "-c"]
MALLOC = {"PYTHONMALLOC": "malloc"}  # each object by itself


def run(*arguments, cwd=None, **more):
    return subprocess.run([ALLOT, "run", *arguments], capture_output=True, text=True, timeout=300, cwd=cwd,
                          env={**ENVIRONMENT, "ALLOT_PRELOAD_LIBRARY": LIBRARY, **more})


def preloaded(command, file, preexec_fn=None, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=300, preexec_fn=preexec_fn,
                          env={**ENVIRONMENT, "LD_PRELOAD": LIBRARY, "ALLOT_TRACE": str(file), **more})


def summary(*files):
    shown = subprocess.run([ALLOT, "trace", "--json", *map(str, files)], capture_output=True, text=True, timeout=300)
    assert shown.returncode == 0, shown
    return json.loads(shown.stdout)


def is_whole(trace, but=()):
    wrong = {name: count for name, count in trace["damage"].items() if count and name not in but}
    assert not wrong, wrong


def scratch():
    return tempfile.TemporaryDirectory(prefix="allot-trace-")


def test_a_tree_of_programs_is_one_file_and_each_image_is_told():
    with scratch() as folder:
        file = pathlib.Path(folder, "t")
        script = "ls / >/dev/null; sh -c 'exec cat /dev/null'; (sleep 0 & wait)"
        result = run("--trace", str(file), "--", "sh", "-c", script)
        assert (result.returncode, result.stdout, result.stderr) == (0, "", ""), result
        trace = summary(file)
        is_whole(trace)
        programs = [image["program"] for image in trace["images"]]
        assert {"sh", "ls", "cat", "sleep"} <= set(programs), programs
        (cat,) = [image for image in trace["images"] if image["program"] == "cat"]
        # The shell that became cat: the same process, another image.
        assert any(image["pid"] == cat["pid"] and image["program"] == "sh" for image in trace["images"]), trace["images"]
        assert os.listdir(folder) == ["t"]


def test_counts_are_those_of_the_program():
    with scratch() as folder:
        file = pathlib.Path(folder, "t")
        script = "x = [bytearray(3333) for _ in range(1000)]\ndel x[500:]\nimport os; os.kill(os.getpid(), 9)"
        result = preloaded([*PYTHON, script], file, **MALLOC)
        assert result.returncode == -9 and result.stderr == "", result
        is_whole(summary(file))
        lines = subprocess.run([ALLOT, "trace", "--records", str(file)], capture_output=True, text=True, timeout=300).stdout.splitlines()
        asked = [line.split()[2] for line in lines if re.search(r" 333[34] \d+ /$", line)]
        assert asked.count("alloc") == 1000 and asked.count("free") == 500, (asked.count("alloc"), asked.count("free"))


def test_the_environment_alone_records_and_a_second_run_adds():
    with scratch() as folder:
        file = pathlib.Path(folder, "t")
        for runs in (1, 2):
            assert preloaded(["ls", "/"], file).returncode == 0
            trace = summary(file)
            assert [image["program"] for image in trace["images"]] == ["ls"] * runs, trace["images"]
        # The command begins anew, and a name with %p is a file for each process.
        assert run("--trace", str(file), "--", "cat", "/dev/null").returncode == 0
        assert [image["program"] for image in summary(file)["images"]] == ["cat"]
        assert run("--trace", folder + "/%p.t", "--", "sh", "-c", "ls / >/dev/null; ls / >/dev/null").returncode == 0
        files = list(pathlib.Path(folder).glob("*.t"))
        assert len(files) == 3, files
        for one in files:
            (image,) = summary(one)["images"]
            assert f"{image['pid']}.t" == one.name
        assert len(summary(*files)["images"]) == 3


def test_the_program_is_not_disturbed():
    with scratch() as folder:
        file = pathlib.Path(folder, "t")
        script = "import json; print(len(json.dumps([{str(i): list(range(i % 30))} for i in range(5000)])))"
        bare = subprocess.run([*PYTHON, script], capture_output=True, text=True, timeout=300)
        result = run("--trace", "relative", "--", "sh", "-c", 'cd / && exec "$@"', "sh", *PYTHON, script, cwd=folder, **MALLOC)
        assert result.stdout == bare.stdout and result.stderr == "" and result.returncode == 0, result
        is_whole(summary(folder + "/relative"))
        source = pathlib.Path(folder, "a.c")
        source.write_text("int main(void) { return 7; }")
        compiled = run("--trace", str(file), "--", "gcc", "-O1", "-o", folder + "/a", str(source))
        assert compiled.returncode == 0 and subprocess.run([folder + "/a"]).returncode == 7, compiled
        trace = summary(file)
        is_whole(trace)
        programs = [image["program"] for image in trace["images"]]
        assert any("gcc" in name for name in programs) and any(name.endswith("as") for name in programs), programs


def test_a_full_disk_ends_the_trace_and_not_the_program():
    with scratch() as folder:
        file = pathlib.Path(folder, "t")
        script = "x = [str(i) * 20 for i in range(30000)]; print(len(x))"
        result = preloaded([*PYTHON, script], file, **MALLOC,
                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 17, 1 << 17)))
        assert result.returncode == 0 and result.stdout == "30000\n", result
        assert result.stderr == f"allot: warning: the trace ends early: {file} has no more space\n", result
        trace = summary(file)
        is_whole(trace, but=["stopped_images"])
        assert trace["damage"]["stopped_images"] == 1 and trace["all"]["alloc"] > 1000, trace


def test_what_is_no_trace_is_not_written_over():
    with scratch() as folder:
        file = pathlib.Path(folder, "letter")
        file.write_text("dear all")
        result = run("--trace", str(file), "--", "true")
        assert result.returncode == 125 and result.stderr == f"allot: --trace: {file}: is no trace; it is not written over\n", result
        assert run("--trace", folder + "/no/such", "--", "true").returncode == 125
        result = preloaded(["ls", "/"], file)
        assert result.returncode == 0 and "is no trace, and is left alone" in result.stderr, result
        assert file.read_text() == "dear all"
        for command in (["trace", str(file)], ["trace", folder + "/none"]):
            shown = subprocess.run([ALLOT, *command], capture_output=True, text=True)
            assert shown.returncode == 1 and shown.stderr.startswith("allot: ") and shown.stderr.count("\n") == 1, shown


def test_threads_tenants_and_handlers_of_a_real_program():
    with scratch() as folder:
        file = pathlib.Path(folder, "t")
        script = """
import signal, threading
kept = []
signal.signal(signal.SIGALRM, lambda *_: kept.append(bytearray(100)))
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
def work():
    for i in range(300): kept.append([bytearray(j * 10) for j in range(30)])
threads = [threading.Thread(target=work) for _ in range(4)]
for t in threads: t.start()
for t in threads: t.join()
signal.setitimer(signal.ITIMER_REAL, 0)
"""
        result = run("--trace", str(file), "--tenant", "/py", "--", *PYTHON, script, **MALLOC)
        assert result.returncode == 0 and result.stderr == "", result
        trace = summary(file)
        is_whole(trace)
        (image,) = trace["images"]
        assert image["threads"] == 5, image
        assert [tenant["path"] for tenant in trace["tenants"]] == ["/py"], trace["tenants"]


def test_a_reader_may_look_while_it_is_written():
    with scratch() as folder:
        file = pathlib.Path(folder, "t")
        writer = subprocess.Popen([*PYTHON, "import time\nwhile True: x = [str(i) for i in range(100)]; time.sleep(0.001)"],
                                  env={**ENVIRONMENT, "LD_PRELOAD": LIBRARY, "ALLOT_TRACE": str(file), **MALLOC})
        try:
            time.sleep(0.3)
            before = summary(file)
            time.sleep(0.3)
            after = summary(file)
        finally:
            writer.kill()
            writer.wait()
        is_whole(after, but=["empty_slots"])  # the next block may be claimed and not begun
        assert 0 < before["records"] < after["records"]


cases.run_all(globals())
