"""Charts in SVG, as the drivers write them: readable as they are, in any browser, without scripts.

Bars and their cut-off, stacked shares, and lines over logarithmic axes. No package but Python's own is needed.
"""
import html
import math

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


class Canvas:
    """A white page with a title and a legend, onto which shapes are put."""

    def __init__(self, title, width, height):
        self.width, self.height = width, height
        self.shapes = [f'<text x="10" y="18" font-size="14" font-weight="bold">{html.escape(title)}</text>']

    def legend(self, names, colours, y=28):
        x = 10
        for name, colour in zip(names, colours):
            if x + 30 + 7 * len(name) > self.width and x > 10:
                x, y = 10, y + 15
            self.rectangle(x, y, 10, 10, colour)
            self.text(x + 14, y + 9, name)
            x += 30 + 7 * len(name)

    def rectangle(self, x, y, width, height, colour, hint=""):
        title = f"<title>{html.escape(hint)}</title>" if hint else ""
        self.shapes.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}">{title}</rect>')

    def line(self, x1, y1, x2, y2, colour="#ddd"):
        self.shapes.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>')

    def path(self, points, colour):
        text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.shapes.append(f'<polyline points="{text}" fill="none" stroke="{colour}" stroke-width="2"/>')

    def dot(self, x, y, colour, hint=""):
        self.shapes.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="white" stroke="{colour}" stroke-width="2">'
                           f"<title>{html.escape(hint)}</title></circle>")

    def text(self, x, y, text, anchor="start", size=11):
        self.shapes.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{html.escape(text)}</text>')

    def svg(self):
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}" font-family="sans-serif" '
            'font-size="11">', '<rect width="100%" height="100%" fill="white"/>', *self.shapes, "</svg>"]) + "\n"


def nice_step(most, parts=6):
    """1, 2 or 5 times a power of ten, of which about `parts` reach `most`."""
    rough = most / parts
    power = 10 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)


def stacked_bars(title, unit, categories, series):
    """A horizontal bar a category, in parts that add up. series: [(name, [value a category])]."""
    left, bar, gap, width, top = 240, 16, 8, 520, 70
    totals = [sum(values[row] for _, values in series) for row in range(len(categories))]
    most = max(max(totals), 1e-9)
    scale = width / most
    canvas = Canvas(title, left + width + 80, top + (bar + gap) * len(categories) + 30)
    canvas.legend([name for name, _ in series], COLOURS)
    bottom = canvas.height - 22
    step = nice_step(most)
    for tick in range(int(most / step) + 1):
        at = left + tick * step * scale
        canvas.line(at, top - 8, at, bottom)
        canvas.text(at, canvas.height - 8, f"{tick * step:g}", "middle")
    canvas.text(left + width + 8, canvas.height - 8, unit)
    for row, category in enumerate(categories):
        y, x = top + row * (bar + gap), left
        canvas.text(left - 8, y + 12, category, "end")
        for (name, values), colour in zip(series, COLOURS):
            canvas.rectangle(x, y, values[row] * scale, bar, colour, f"{category}, {name}: {values[row]:.2f} {unit}")
            x += values[row] * scale
        canvas.text(x + 5, y + 12, f"{totals[row]:.3g}")
    return canvas.svg()


def line_chart(title, x_title, y_title, series, points=()):
    """Lines over logarithmic axes. series: [(name, [(x, y)])]; points: [(name of a series, x, y, hint)], drawn as circles."""
    left, top, width, height = 90, 84, 560, 380
    every = [point for _, line in series for point in line] + [(x, y) for _, x, y, _ in points]
    x_low, x_high = min(x for x, _ in every), max(x for x, _ in every)
    y_low = 10 ** math.floor(math.log10(min(y for _, y in every)))
    y_high = 10 ** math.ceil(math.log10(max(y for _, y in every)))
    canvas = Canvas(title, left + width + 40, top + height + 50)
    canvas.legend([name for name, _ in series], COLOURS)

    def place(x, y):
        return (left + width * math.log(x / x_low) / math.log(x_high / x_low),
                top + height * (1 - math.log(y / y_low) / math.log(y_high / y_low)))

    decade = y_low
    while decade <= y_high * 1.001:
        _, at = place(x_low, decade)
        canvas.line(left, at, left + width, at)
        canvas.text(left - 8, at + 4, f"{decade:,.0f}" if decade >= 1 else f"{decade:g}", "end")
        decade *= 10
    x = x_low
    while x <= x_high:
        at, _ = place(x, y_low)
        canvas.line(at, top, at, top + height)
        canvas.text(at, top + height + 16, f"{x:g}", "middle")
        x *= 2
    canvas.text(left + width, top + height + 34, x_title, "end")
    canvas.text(10, top - 10, y_title)
    colour_of = {name: colour for (name, _), colour in zip(series, COLOURS)}
    for name, line in series:
        canvas.path([place(x, y) for x, y in line], colour_of[name])
    for name, x, y, hint in points:
        canvas.dot(*place(x, y), colour_of[name], hint)
    return canvas.svg()
