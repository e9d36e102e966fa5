"""What the drivers write: geometric means, figures, tables in Markdown. No package but Python's own is needed."""
import math
import os
import platform


def geomean(values):
    """The geometric mean, or None of nothing."""
    values = [value for value in values if value is not None and value > 0]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def figure(value, digits=3):
    """A number as a reader wants it: three significant digits, no exponent."""
    if value is None:
        return "–"
    if value == 0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{decimals}f}"


def ratio(value):
    return "–" if value is None else f"{value:.2f}"


def mebibytes(value):
    return "–" if value is None else f"{value / 2**20:.1f}"


def markdown_table(head, rows):
    """The first column is text, the others are numbers."""
    lines = ["| " + " | ".join(head) + " |", "|---" + "|--:" * (len(head) - 1) + "|"]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def machine():
    """One sentence on what ran the benchmarks."""
    model = "an unknown processor"
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            model = next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    virtual = ""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            virtual = ", a virtual machine" if any("hypervisor" in line for line in file if line.startswith("flags")) else ""
    except OSError:
        pass
    return f"{len(os.sched_getaffinity(0))} CPUs of {model}{virtual}, Linux {platform.release()}"


def load():
    return f"{os.getloadavg()[0]:.2f}"
