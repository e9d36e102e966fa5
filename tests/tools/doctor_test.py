"""allot doctor: the answer is in the exit status, the reason in the first line.

    doctor_test.py ALLOT
"""
import os
import pathlib
import subprocess
import sys
import tempfile

ALLOT = sys.argv[1]
NOTHING = "int main(void) { return 0; }"


def doctor(*command, **environment):
    return subprocess.run([ALLOT, "doctor", *command], capture_output=True, text=True, timeout=60,
                          env={**os.environ, **environment})


def compiled(folder, name, source, *flags):
    (folder / "source.c").write_text(source)
    subprocess.run(["cc", "-o", folder / name, folder / "source.c", *flags], check=True)
    return str(folder / name)


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    good = doctor(compiled(folder, "plain", NOTHING))
    assert good.returncode == 0 and good.stdout.endswith(f"can be limited\n  file {folder}/plain\n"), good

    static = compiled(folder, "static", NOTHING, "-static")
    bad = doctor(static)
    assert bad.returncode == 1 and bad.stdout.startswith(f"{static} cannot be limited: it is statically linked"), bad

    (folder / "script").write_text(f"#!{static}\n")
    (folder / "script").chmod(0o755)
    bad = doctor(str(folder / "script"))
    assert bad.returncode == 1 and f"\n  run by {static}\n" in bad.stdout, bad

    library = folder / "liballot-preload.so"
    broken = doctor(ALLOT_PRELOAD_LIBRARY=str(library))
    assert broken.returncode == 1 and "Programs cannot be limited here." in broken.stdout, broken
    library.write_text("not a library")
    broken = doctor(ALLOT_PRELOAD_LIBRARY=str(library))
    assert broken.returncode == 1 and "it is not a library for this machine" in broken.stdout, broken
    subprocess.run(["cc", "-shared", "-o", library, "-x", "c", "/dev/null"], check=True)
    whole = doctor(ALLOT_PRELOAD_LIBRARY=str(library))
    assert whole.returncode == 0 and "Programs can be limited here." in whole.stdout, whole
