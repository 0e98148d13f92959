"""What is measured, its marks, and the tables of a result."""

import statistics
from dataclasses import dataclass

NATIVE = "native"


@dataclass(frozen=True)
class Figure:
    """A row of the table.

    A mark is a limit by remote, or for all; `of` says what it is a multiple of: nothing, the same
    work on the disk (`native`), or the best other program (`peer`).
    """

    name: str
    title: str
    unit: str
    is_more_better: bool = False
    marks: dict = None
    of: str = None
    is_peak: bool = False
    is_beside_native: bool = False
    is_cost: bool = False

    def combine(self, values):
        return max(values) if self.is_peak else statistics.median(values)


def everywhere(limit):
    return {"webdav": limit, "s3": limit, "folder": limit}


@dataclass(frozen=True)
class Sizes:
    large: int = 256  # MiB
    huge: int = 512  # MiB
    reads: int = 60
    directories: int = 100
    files: int = 10_000
    small: int = 500
    cloned: int = 1_000
    untarred: int = 3_000
    removed: int = 12_000
    started: int = 10_000


QUICK = Sizes(64, 128, 60, 20, 1_000, 100, 100, 300, 1_200, 1_000)


def figures(sizes):
    large, huge = f"{sizes.large} MiB", f"{sizes.huge} MiB"
    random = f"{sizes.reads} random 4 KiB in a cold {huge} file"
    find = f"`find -size +0`, {sizes.files:,} files, {sizes.directories} directories"
    small = f"{sizes.small} new files of 10 KiB"
    tar = f"`tar x` of {sizes.untarred:,} files on a folder"
    more, less, cost = {"is_more_better": True}, {}, {"is_cost": True}
    beside = {"is_beside_native": True}
    make = [
        ("first-byte", f"first byte of a cold {large} file", "ms", less, everywhere(45)),
        ("read-cold", "cold sequential read", "MiB/s", more, everywhere(1.3), "peer"),
        ("read-warm", "warm read", "MiB/s", more | beside, everywhere(0.9), NATIVE),
        (
            "read-dropped",
            "warm read, page cache dropped",
            "MiB/s",
            more | beside,
            everywhere(0.9),
            NATIVE,
        ),
        ("random-time", f"{random}: median", "ms", less, everywhere(30)),
        ("random-total", f"{random}: together", "s", less),
        ("random-bytes", f"{random}: fetched", "MiB", less, everywhere(16)),
        ("find-cold", f"{find}, cold", "s", less, {"webdav": 1.5, "s3": 3}),
        ("find-store-times", f"{find}, cold, times of the store", "s", less),
        ("find-warm", f"{find}, warm", "ms", beside, everywhere(1.3), NATIVE),
        ("small-local", f"{small}: local", "files/s", more | beside, everywhere(4000)),
        ("small-remote", f"{small}: all remote", "s", less, everywhere(1.5)),
        ("write-local", f"{large} written: local", "MiB/s", more | beside, everywhere(0.9), NATIVE),
        ("write-upload", f"{large} written: upload", "MiB/s", more, {"webdav": 45, "s3": 250}),
        ("write-remote", f"{large} written: all remote", "s", less),
        ("clone", f"`git clone` of {sizes.cloned:,} files", "s", beside, everywhere(2), NATIVE),
        ("status", "warm `git status`", "ms", beside, everywhere(1.5), NATIVE),
        ("tar-local", f"{tar}: local", "s", beside),
        ("tar-remote", f"{tar}: all remote", "s", beside, everywhere(2)),
        ("remove", f"`rm -rf` of {sizes.removed:,} files on a folder", "s", beside, everywhere(2)),
        ("start-ended", f"start with {sizes.started:,} local files", "ms", less),
        ("start-killed", "the same after `kill -9`", "ms", less),
        ("memory", "largest memory", "MiB", cost | {"is_peak": True}, everywhere(100)),
        ("read-cpu", "CPU per GiB read cold", "s", cost),
        ("write-cpu", "CPU per GiB written and uploaded", "s", cost),
        ("find-cpu", "CPU per 1,000 files listed cold", "ms", cost),
        ("find-warm-cpu", "CPU per 1,000 files listed warm", "ms", cost),
        ("small-cpu", "CPU per 1,000 new files, uploaded", "ms", cost),
        ("tar-cpu", "CPU per 1,000 files of `tar x`, uploaded", "ms", cost),
        ("remove-cpu", "CPU per 1,000 files removed", "ms", cost),
        ("read-requests", "requests: cold read", "", cost),
        ("random-requests", "requests: random reads", "", cost),
        ("find-requests", "requests: cold `find`", "", cost),
        ("find-warm-requests", "requests: warm `find`", "", cost),
        ("small-requests", f"requests: {small}", "", cost),
        ("write-requests", f"requests: {large} written", "", cost),
        ("clone-requests", "requests: `git clone`", "", cost),
    ]
    result = {}
    for name, title, unit, flags, *mark in make:
        marks, of = (mark + [None, None])[:2]
        result[name] = Figure(name, title, unit, marks=marks, of=of, **flags)
    return result


class Results:
    """The measured values, by figure and by system: `PROGRAM REMOTE`, or native."""

    def __init__(self, sizes):
        self.figures = figures(sizes)
        self.values = {}
        self.failures = []
        self.notes = []

    def record(self, figure, system, value):
        assert figure in self.figures, figure
        self.values.setdefault(figure, {}).setdefault(system, []).append(value)

    def record_failure(self, system, work, reason):
        self.failures.append({"system": system, "work": work, "reason": reason})

    def note(self, text):
        self.notes.append(text)

    def has_failed(self, system, work):
        return any(each["system"] == system and each["work"] == work for each in self.failures)

    def summary(self):
        return {
            name: {
                system: {"value": self.figures[name].combine(values), "values": values}
                for system, values in systems.items()
            }
            for name, systems in self.values.items()
        }


def best_peer(figure, measured, remote, program="apus"):
    """The best value of another program on the same remote, builds of Apus aside, or None."""
    values = [
        each["value"]
        for system, each in measured.items()
        if system.endswith(f" {remote}") and not system.startswith(("apus ", "before "))
    ]
    if not values:
        return None
    return max(values) if figure.is_more_better else min(values)


def verdict(figure, measured, remote):
    """Whether Apus meets the mark on a remote; None without a mark, or values to compare."""
    value = measured.get(f"apus {remote}", {}).get("value")
    limit = (figure.marks or {}).get(remote)
    if value is None or limit is None:
        return None
    if figure.of == NATIVE:
        base = measured.get(NATIVE, {}).get("value")
    elif figure.of == "peer":
        base = best_peer(figure, measured, remote)
    else:
        base = 1
    if base is None:
        return None
    return value >= limit * base if figure.is_more_better else value <= limit * base


def is_behind(figure, measured, remote):
    """Whether a peer does better than Apus on a remote."""
    value = measured.get(f"apus {remote}", {}).get("value")
    best = best_peer(figure, measured, remote)
    if figure.is_cost or value is None or best is None:
        return False
    return value < best if figure.is_more_better else value > best


def number(value):
    """A value with three digits that matter."""
    if value >= 1000:
        return f"{value:,.0f}"
    if value >= 100:
        return f"{value:.0f}"
    if value >= 10:
        return f"{value:.1f}".removesuffix(".0")
    return f"{value:.2f}" if value >= 0.1 or not value else f"{value:.2g}"


def mark_text(figure):
    limits = sorted(set((figure.marks or {}).values()))
    if not limits:
        return ""
    after = {None: f" {figure.unit}", NATIVE: " × native", "peer": " × the best peer"}[figure.of]
    if len(limits) == 1:
        return f"{limits[0]:g}{after}"
    names = {"webdav": "WebDAV", "s3": "S3"}
    parts = [f"{names[remote]} {limit:g}" for remote, limit in figure.marks.items()]
    return f"{', '.join(parts)}{after}"


def system_title(system):
    program, _, remote = system.partition(" ")
    return f"{program} {({'webdav': 'WebDAV', 's3': 'S3'}.get(remote, remote))}".strip()


def cell(figure, measured, system):
    """A value with its ratio to native; bold if a peer is better, ✗ if a mark is missed."""
    if system not in measured:
        return "–"
    value = measured[system]["value"]
    text = number(value)
    native = measured.get(NATIVE, {}).get("value")
    if figure.is_beside_native and native and system != NATIVE:
        text += f" ({number(value / native)} ×)"
    program, _, remote = system.partition(" ")
    if program != "apus":
        return text
    if is_behind(figure, measured, remote):
        text = f"**{text}**"
    return text + (" ✗" if verdict(figure, measured, remote) is False else "")


def ratio_text(figure, measured):
    """How many times better than the best peer Apus is, by remote."""
    parts = []
    for remote, title in (("webdav", "WebDAV"), ("s3", "S3")):
        value = measured.get(f"apus {remote}", {}).get("value")
        best = best_peer(figure, measured, remote)
        if value is None or best is None or not min(value, best) > 0:
            continue
        ratio = value / best if figure.is_more_better else best / value
        parts.append(f"{title} {number(ratio)} ×")
    return ", ".join(parts)


def table(result, figures_by_name, is_cost):
    """The figures of a result as Markdown, a column for each system."""
    measured = result["figures"]
    shown = [
        name
        for name, figure in figures_by_name.items()
        if figure.is_cost == is_cost and name in measured
    ]
    systems = [
        system
        for system in result["systems"]
        if any(system in measured[name] for name in shown)
    ]
    head = ["cost of the daemon" if is_cost else "work", "unit", *map(system_title, systems)]
    head += ["mark"] if is_cost else ["better than the best peer", "mark"]
    rows = []
    for name in shown:
        figure = figures_by_name[name]
        row = [figure.title, figure.unit or "–"]
        row += [cell(figure, measured[name], system) for system in systems]
        row += [] if is_cost else [ratio_text(figure, measured[name])]
        row += [mark_text(figure)]
        rows.append(row)
    if not rows:
        return ""
    return markdown([head, ["---"] * len(head), *rows])


def markdown(rows):
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def aligned(text):
    """A Markdown table for a terminal: columns aligned."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    if not rows:
        return ""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        if set("".join(row)) == {"-"}:
            row = ["-" * width for width in widths]
        cells = [row[0].ljust(widths[0])]
        cells += [text.rjust(width) for text, width in zip(row[1:], widths[1:])]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines) + "\n"


def marks_met(result, figures_by_name):
    """How many marks are met, and how many there are."""
    verdicts = [
        verdict(figures_by_name[name], measured, remote)
        for name, measured in result["figures"].items()
        if name in figures_by_name
        for remote in ("webdav", "s3", "folder")
    ]
    return verdicts.count(True), len(verdicts) - verdicts.count(None)


def remarks(result):
    """Lines about failed measurements, and those made less often than the rest."""
    failures = [
        f"{each['system']} failed at {each['work']}: {each['reason']}"
        for each in result["failures"]
    ]
    return failures + result["notes"]
