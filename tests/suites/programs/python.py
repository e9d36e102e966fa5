"""Debian's python3: its own tests of the modules that allocate most; PYTHONMALLOC=malloc takes its own pools out of the way."""
import os
import re
import sys

import preloaded

# A quarter of a minute in all; the others' time goes into sleeping or starting processes.
MODULES = ["dict", "list", "set", "bytes", "json", "zlib", "collections", "itertools", "deque", "mmap", "re", "struct", "gc",
           "fork1"]


def work(runner):
    names = [f"test.test_{module}" for module in MODULES]
    out, err = runner.run("/usr/bin/python3", "-m", "unittest", *names, env={"PYTHONMALLOC": "malloc"})
    verdict = re.search(r"Ran \d+ tests?", err)
    if not verdict or "\nOK" not in err:
        raise preloaded.Failure(err[-3000:])
    return verdict.group(), err[err.rindex("\nOK"):]


if not os.path.exists("/usr/lib/python3.11/test/test_dict.py"):
    print("skipped: libpython3.11-testsuite is not installed")
    sys.exit(77)
preloaded.compare(work, needs=["python3"])
