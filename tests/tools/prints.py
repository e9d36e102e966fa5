#!/usr/bin/env python3
"""prints.py EXPECTED PROGRAM [ARG...]: passes if the program exits with 0 and prints exactly the lines of EXPECTED."""

import subprocess
import sys

expected, command = sys.argv[1], sys.argv[2:]
run = subprocess.run(command, capture_output=True, text=True, timeout=60)
if run.returncode != 0 or run.stdout.rstrip("\n") != expected.replace("\\n", "\n"):
    print(f"status {run.returncode}\n--- printed\n{run.stdout}--- expected\n{expected}\n--- stderr\n{run.stderr}")
    sys.exit(1)
