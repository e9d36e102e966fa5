"""Words that must not stand in the project: notes to oneself, paths of one machine, verbs that mean four things.

In code (comments and literals apart): `release` as part of a name, and the malloc family called by a library, which would
recurse into itself under the preload.
"""
import re

from sources import Findings, LIBRARIES, exceptions, text_of, tracked, without_comments_and_strings

ANYWHERE = [
    (re.compile(r"\b(TODO|FIXME|XXX|HACK)\b"), "is a note to oneself: do it, or write down the limit as a fact"),
    (re.compile(r"(?<![\w.])/(work|root|home/\w+)/"), "is a path of one machine"),
    (re.compile(r"/tmp/(wt|build|spec)\b"), "is a path of one machine"),
]
IN_CODE = [
    # The order of an atomic operation and clang's attributes have that name already.
    (re.compile(r"\b(?!memory_order_release\b|__atomic_release\b|release_capability\b|release_shared_capability\b)\w*release\w*\b", re.IGNORECASE),
     "is banned from names: say uncharge, free, put or drain"),
]
IN_LIBRARIES = [
    (re.compile(r"(?<![\w:.>])(?<!\*)(malloc|calloc|realloc|free|strdup|asprintf|fopen|printf|fprintf)\s*\("),
     "is called or declared in a library that must not allocate"),
]


def check(path, text, rules, accepted, findings):
    for line, content in enumerate(text.splitlines(), 1):
        for pattern, sentence in rules:
            for match in pattern.finditer(content):
                if f"{path}:{match.group().strip()}" not in accepted:
                    findings.add(path, line, f"'{match.group().strip()}' {sentence}")


def main():
    findings = Findings()
    accepted = exceptions("words")
    files = [path for path in tracked() if path.suffix not in (".svg", ".png") and not str(path).startswith("tests/lint/")]
    for path in files:
        text = text_of(path)
        check(path, text, ANYWHERE, accepted, findings)
        if path.suffix in (".c", ".h", ".cpp", ".hpp", ".def"):
            code = without_comments_and_strings(text)
            if path.parts[0] in LIBRARIES + ("tools",):
                check(path, code, IN_CODE, accepted, findings)
            if path.parts[0] in ("accounting", "alloc"):
                check(path, code, IN_LIBRARIES, accepted, findings)
    findings.exit(len(files))


main()
