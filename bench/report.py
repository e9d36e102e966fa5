"""What the drivers write: geometric means, tables in Markdown, bars in SVG. No package but Python's own is needed."""
import html
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


COLOURS = ("#1b6ca8", "#7fb3d5", "#c0392b", "#d68910", "#7d8f3a", "#8e8e8e", "#6c3483", "#333333")


def bar_chart(title, unit, categories, series, limit=3.0):
    """Horizontal bars, grouped: categories down, one bar a series. series: [(name, [value or None a category])].

    Bars longer than `limit` are cut off and say their value, so that one bad row does not flatten all others.
    """
    left, bar, gap, width = 190, 11, 10, 620
    group = bar * len(series) + gap
    top = 58
    height = top + group * len(categories) + 30
    scale = width / limit
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 70}" height="{height}" '
        'font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="10" y="18" font-size="14" font-weight="bold">{html.escape(title)}</text>',
    ]
    x = 10
    for (name, _), colour in zip(series, COLOURS):
        out.append(f'<rect x="{x}" y="28" width="10" height="10" fill="{colour}"/>')
        out.append(f'<text x="{x + 14}" y="37">{html.escape(name)}</text>')
        x += 30 + 7 * len(name)
    for tick in range(int(limit * 2) + 1):
        at = left + tick / 2 * scale
        strong = "#555" if tick == 2 else "#ddd"
        out.append(f'<line x1="{at:.1f}" y1="{top - 8}" x2="{at:.1f}" y2="{height - 22}" stroke="{strong}"/>')
        out.append(f'<text x="{at:.1f}" y="{height - 8}" text-anchor="middle">{tick / 2:g}</text>')
    out.append(f'<text x="{left + width + 8}" y="{height - 8}">{html.escape(unit)}</text>')
    for row, category in enumerate(categories):
        y = top + row * group
        out.append(f'<text x="{left - 8}" y="{y + group / 2 - 1:.1f}" text-anchor="end">{html.escape(category)}</text>')
        for index, ((_, values), colour) in enumerate(zip(series, COLOURS)):
            value = values[row]
            if value is None:
                continue
            length = min(value, limit) * scale
            at = y + index * bar
            out.append(f'<rect x="{left}" y="{at}" width="{length:.1f}" height="{bar - 2}" fill="{colour}"/>')
            if value > limit:
                out.append(f'<text x="{left + length + 4:.1f}" y="{at + 9}" font-size="9">{value:.1f}</text>')
    out.append("</svg>")
    return "\n".join(out) + "\n"
