"""The page of the last results, docs/performance.md, and its plot."""

import json
import math
import os
from xml.sax.saxutils import escape

from .figures import NATIVE, best_peer, figures, marks_met, remarks, Sizes, table

KEPT = 3
BEGIN, END = "<!-- results: written by `make bench` -->", "<!-- end of results -->"


def keep(result, folder):
    """Adds a result to those in a folder, of which the last three stay, and renders them."""
    path = os.path.join(folder, "performance.json")
    results = load(path)
    results = [*results, result][-KEPT:]
    write(path, "[\n" + ",\n".join(json.dumps(each) for each in results) + "\n]\n")
    write(os.path.join(folder, "performance.svg"), plot(results))
    page = os.path.join(folder, "performance.md")
    with open(page) as file:
        write(page, replace_results(file.read(), render(results)))


def load(path):
    try:
        with open(path) as file:
            return json.load(file)
    except FileNotFoundError:
        return []


def write(path, text):
    with open(path + ".new", "w") as file:
        file.write(text)
    os.replace(path + ".new", path)


def replace_results(page, results):
    """Puts results between the two comments of a page, or at its end."""
    if BEGIN not in page:
        page = f"{page.rstrip()}\n\n{BEGIN}\n{END}\n"
    before, rest = page.split(BEGIN, 1)
    return f"{before}{BEGIN}\n{results}{END}{rest.split(END, 1)[1]}"


def render(results):
    """The results as Markdown, the newest first."""
    parts = ["\n![Apus beside the best peer, or the disk](performance.svg)\n"]
    parts += [render_one(result) for result in reversed(results)]
    return "\n".join(parts) + "\n"


def render_one(result):
    by_name = figures(Sizes(**result["sizes"]))
    machine, met = result["machine"], marks_met(result, by_name)
    programs = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    lines = [
        f"### {result['date']}\n",
        f"Commit {result['commit']}. {machine['cpu']}, {machine['cores']} cores, "
        f"{machine['memory']}, Linux {machine['kernel']}. Round trip {result['rtt']}, {result['rate']}/s a connection. "
        f"Median of {result['rounds']}. Versions: {programs}. {met[0]} of {met[1]} marks met.\n",
        table(result, by_name, False),
        table(result, by_name, True),
    ]
    lines += [f"- {line}" for line in remarks(result)]
    if remarks(result):
        lines[-1] += "\n"
    return "\n".join(lines)


# The plot: a row for each figure and remote, a dot for each result


def points(result):
    """How many times better than what it is compared with Apus is: `{row: ratio}`."""
    found = {}
    for name, figure in figures(Sizes(**result["sizes"])).items():
        measured = result["figures"].get(name, {})
        for remote, title in (("webdav", "WebDAV"), ("s3", "S3"), ("folder", "folder")):
            value = measured.get(f"apus {remote}", {}).get("value")
            other, against = best_peer(figure, measured, remote), "best peer"
            if figure.is_beside_native and (other is None or figure.of == NATIVE):
                other, against = measured.get(NATIVE, {}).get("value"), "disk"
            if figure.is_cost or not value or not other:
                continue
            ratio = value / other if figure.is_more_better else other / value
            title_text = figure.title.replace("`", "")
            found[f"{title_text} · {title} · {against}"] = ratio
    return found


def plot(results):
    """An SVG with a logarithmic axis: right of the line, Apus is ahead."""
    columns = [points(result) for result in results]
    rows = list(dict.fromkeys(row for column in columns for row in column))
    left, width, step, top = 470, 420, 18, 46
    height = top + step * len(rows) + 30
    low, high = -2, 2

    def x(ratio):
        exponent = min(max(math.log10(ratio), low), high)
        return left + width * (exponent - low) / (high - low)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 30} {height}" '
        'font-family="sans-serif" font-size="11">',
        f'<rect width="{left + width + 30}" height="{height}" fill="#fff"/>',
        f'<text x="{left}" y="16" fill="#333">times as good as the best peer, or the disk; '
        "dark: newest</text>",
    ]
    for exponent in range(low, high + 1):
        place, stroke = x(10**exponent), "#333" if exponent == 0 else "#ddd"
        label = f"{10.0**exponent:g}"
        parts.append(
            f'<line x1="{place:.1f}" y1="{top - 12}" x2="{place:.1f}" y2="{height - 26}" '
            f'stroke="{stroke}"/><text x="{place:.1f}" y="{top - 16}" text-anchor="middle" '
            f'fill="#666">{label} ×</text>'
        )
    shades = ["#c6dbef", "#6baed6", "#08519c"][-len(columns) :]
    for index, row in enumerate(rows):
        y = top + step * index + 6
        parts.append(
            f'<text x="{left - 8}" y="{y + 4}" text-anchor="end" fill="#333">{escape(row)}</text>'
        )
        for column, shade in zip(columns, shades):
            if row in column:
                parts.append(f'<circle cx="{x(column[row]):.1f}" cy="{y}" r="4.5" fill="{shade}"/>')
    return "\n".join(parts) + "\n</svg>\n"
