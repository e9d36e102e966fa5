"""Shell scripts pass shellcheck; Python files compile. A script is what begins with #! and a shell."""
import os
import shutil
import subprocess
import sys

from sources import Findings, ROOT, tracked


def first_line(path):
    with open(ROOT / path, "rb") as file:
        return file.readline(200).decode(errors="replace")


def main():
    findings = Findings()
    shells, pythons = [], []
    for path in tracked():
        line = first_line(path)
        if path.suffix in (".sh", ".bash") or (line.startswith("#!") and ("bash" in line or line.rstrip().endswith("/sh"))):
            shells.append(path)
        elif path.suffix == ".py" or (line.startswith("#!") and "python3" in line):
            pythons.append(path)
        if line.startswith("#!") and not os.access(ROOT / path, os.X_OK):
            findings.add(path, 1, "begins with #! but cannot be executed")

    if not shutil.which("shellcheck"):
        print("shellcheck is not installed")
        sys.exit(77)
    for path in shells:
        result = subprocess.run(["shellcheck", "--shell=bash", "--format=gcc", str(path)], cwd=ROOT, text=True, capture_output=True)
        if result.returncode != 0:
            findings.add(path, 1, f"shellcheck:\n{result.stdout.strip()}")
    for path in pythons:
        try:
            compile((ROOT / path).read_text(), str(path), "exec")
        except SyntaxError as error:
            findings.add(path, error.lineno, str(error))
    findings.exit(len(shells) + len(pythons))


main()
