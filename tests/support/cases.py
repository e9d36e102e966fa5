"""Runs the functions of a test script whose names begin with test_, each a case by itself."""
import sys
import time


def run_all(functions):
    """Ends the script: status 1 if a case failed. The caller gives its globals()."""
    failed = 0
    for name, test in sorted(functions.items()):
        if not name.startswith("test_"):
            continue
        start = time.monotonic()
        try:
            test()
            print(f"ok   {name} ({time.monotonic() - start:.1f} s)")
        except Exception as error:  # each case counts by itself
            failed += 1
            print(f"FAIL {name}: {type(error).__name__}: {error}")
    sys.exit(1 if failed else 0)
