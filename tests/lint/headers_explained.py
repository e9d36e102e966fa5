"""Every header opens with a comment; in public headers each function has one, and the opening says who may call (Threads:).

A function belongs to the nearest comment above it: declarations that follow each other without an empty line share it.
"""
import re

from sources import Findings, exceptions, text_of, tracked

DECLARATION = re.compile(r"^[A-Za-z_][\w\s\*:<>,&\[\]]*\b(allot_\w+)\s*\(")


def undocumented(text):
    """(line, name) of each function of a C header without a comment."""
    commented = False
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped:
            commented = False
        elif stripped.startswith(("//", "/*", "*")) or stripped.endswith("*/"):
            commented = True
        else:
            match = DECLARATION.match(line)
            if match and not commented and "//" not in line:
                yield number, match.group(1)


def main():
    findings = Findings()
    accepted = exceptions("headers_explained")
    headers = [path for path in tracked(".h", ".hpp") if path.parts[0] in ("accounting", "alloc", "preload", "tools", "bench")]
    for path in headers:
        if str(path) in accepted:
            continue
        text = text_of(path)
        opening = re.match(r"\s*((?://[^\n]*\n)+|/\*.*?\*/)", text, re.DOTALL)
        if not opening:
            findings.add(path, 1, "does not open with what it is and why")
        if "include" in path.parts:
            if opening and path.suffix == ".h" and "Threads" not in opening.group():
                findings.add(path, 1, "is public and does not say who may call it (Threads:)")
            for line, name in undocumented(text):
                findings.add(path, line, f"{name} has no comment")
    findings.exit(len(headers))


main()
