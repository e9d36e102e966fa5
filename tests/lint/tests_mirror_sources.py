"""Each source of accounting, alloc, preload and tools has its test, and each test its source, of the same stem.

A header without a source counts as a source. What is tested elsewhere is listed in exceptions.toml with the reason.
"""
import re

from sources import Findings, exceptions, tracked

FOLDERS = ("accounting", "alloc", "preload", "tools")


def stem_of(path):
    """accounting/base/os.cpp -> accounting/base/os"""
    return re.sub(r"\.(cpp|hpp|c)$", "", str(path))


def main():
    findings = Findings()
    untested = exceptions("untested")
    sourceless = exceptions("sourceless")
    sources = {}
    for path in tracked(".cpp", ".hpp", ".c"):
        if path.parts[0] in FOLDERS and "include" not in path.parts and "examples" not in path.parts:
            sources.setdefault(stem_of(path), path)
    tests = {}
    for path in tracked("_test.cpp", "_test.c", "_test.py", "_test.sh"):
        if path.parts[0] == "tests" and path.parts[1] in FOLDERS:
            tests[re.sub(r"^tests/(.*)_test\.\w+$", r"\1", str(path))] = path

    for stem, path in sorted(sources.items()):
        if stem not in tests and stem not in untested:
            findings.add(path, 1, f"has no test tests/{stem}_test.cpp")
    for stem, path in sorted(tests.items()):
        if stem not in sources and stem not in sourceless:
            findings.add(path, 1, f"tests {stem}.*, which does not exist")
    for stem in sorted(untested):
        if stem not in sources:
            findings.add("tests/lint/exceptions.toml", 1, f"{stem} does not exist")
        elif stem in tests:
            findings.add("tests/lint/exceptions.toml", 1, f"{stem} has a test by now")
    for stem in sorted(set(sourceless) - set(tests)):
        findings.add("tests/lint/exceptions.toml", 1, f"there is no test of {stem}")
    findings.exit(len(sources))


main()
