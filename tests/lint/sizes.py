"""The longest files and functions, to be noticed: at about 500 lines ask what second subject moved in. Never fails."""
import re

from sources import text_of, tracked, without_comments_and_strings

NOTICE_FILE_LINES = 400
NOTICE_FUNCTION_LINES = 60


def functions(text):
    """(line, length) of what looks like a function body: from a line ending in `) {` and the like to its `}`."""
    lines = without_comments_and_strings(text).splitlines()
    start = None
    for number, line in enumerate(lines, 1):
        if start is None and re.match(r"^(    )?[\w~].*\)[\w\s:]*\{\s*$", line) and not re.match(r"\s*(if|for|while|switch)\b", line):
            start, indent = number, len(line) - len(line.lstrip())
        elif start is not None and line.rstrip() == " " * indent + "}":
            yield start, number - start + 1
            start = None


def main():
    total = 0
    for path in tracked(".c", ".h", ".cpp", ".hpp", ".py", ".def"):
        text = text_of(path)
        lines = text.count("\n")
        total += lines
        if lines > NOTICE_FILE_LINES:
            print(f"{path}: {lines} lines")
        if path.suffix in (".cpp", ".hpp"):
            for line, length in functions(text):
                if length > NOTICE_FUNCTION_LINES:
                    print(f"{path}:{line}: a function of {length} lines")
    print(f"{total} lines in all")


main()
