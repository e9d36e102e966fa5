"""The files of the project, and how a lint says what it found.

Every lint is one program: it looks at the tree, prints `file:line: sentence` for each finding, and exits 1 if there was one.
"""
import pathlib
import re
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARIES = ("accounting", "alloc", "preload")


def tracked(*suffixes):
    """Files that are or would be committed, relative to the root; a tree without git (a tarball) is walked."""
    try:
        listing = subprocess.run(
            ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT, check=True, capture_output=True).stdout.decode()
        names = [name for name in listing.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        names = [str(path.relative_to(ROOT)) for path in ROOT.rglob("*") if path.is_file()]
    names = [name for name in names if not name.startswith("build") and (ROOT / name).is_file()]
    return sorted(pathlib.PurePath(name) for name in names if not suffixes or name.endswith(suffixes))


def text_of(path):
    return (ROOT / path).read_text(encoding="utf-8", errors="replace")


def without_comments_and_strings(text):
    """C or C++ source with comments and literals blanked; line numbers stay."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def exceptions(section):
    """Accepted departures from a rule, each with its reason: a table of exceptions.toml."""
    with open(ROOT / "tests/lint/exceptions.toml", "rb") as file:
        table = tomllib.load(file).get(section, {})
    for key, reason in table.items():
        if not isinstance(reason, str) or len(reason) < 10:
            raise SystemExit(f"tests/lint/exceptions.toml: [{section}] {key} needs a reason")
    return table


class Findings:
    def __init__(self):
        self.count = 0

    def add(self, path, line, sentence):
        self.count += 1
        print(f"{path}:{line}: {sentence}")

    def exit(self, looked_at):
        """Looking at nothing is a failure too: a lint that lost its files must not pass."""
        if not looked_at:
            print("nothing was looked at")
            sys.exit(1)
        print(f"{looked_at} looked at, {self.count} found")
        sys.exit(1 if self.count else 0)
