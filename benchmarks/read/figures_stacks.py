"""Stacks of public recordings against what other tools make of them: every sample, every path, every weight.

Three comparisons of two paths each: the text of `perf script` against what stackcollapse-perf made of it; each recording that tools ship in two forms
against the other form; and the sum of what was read against a count of the lines by nothing but their shape. Without RIDGELINE_DATA nothing is read,
and the fragment says so.

    RIDGELINE_DATA=FOLDER python benchmarks/read/figures_stacks.py [--out FILE.md]
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from ridgeline.core import Frame, Profile, ReadError, Stacks
from ridgeline.readers import read_profile
from ridgeline.timeline.frames import weight_of

#: Files that hold the same program twice: relative to `speedscope/`, and the weights that both must have by path.
PAIRS = {
    "stackcollapse/simple.txt": ("stackcollapse/simple-crlf.txt", "stackcollapse/simple-utf16-be.txt", "stackcollapse/simple-utf16-le.txt",
                                 "stackcollapse/simple-with-invalids.txt", "speedscope/0.0.1/simple.speedscope.json",
                                 "speedscope/0.0.1/simple-no-pretty-print.speedscope.json", "speedscope/0.1.2/simple-sampled.speedscope.json",
                                 "speedscope/0.6.0/two-sampled.speedscope.json"),
    "callgrind/callgrind.example.log": ("callgrind/callgrind.name-compression.log", "callgrind/callgrind.subposition-compression.log"),
}  # fmt: skip
#: Files that have to be refused, with the place.
REFUSED = {"speedscope/invalid/incomplete-trace.json": "events[1]", "speedscope/invalid/out-of-order-events.json": "events[6]"}
_ARGUMENTS = re.compile(r"\(.*\)$")
_JAVA = re.compile(r"^L(?=[A-Za-z_/]+)")


class Row(NamedTuple):
    """One comparison: what was read, against what, how much, and what differs."""

    name: str
    against: str
    weight: str
    found: str
    good: bool


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    folder = Path(os.environ.get("RIDGELINE_DATA", "")) / "traces"
    if not os.environ.get("RIDGELINE_DATA") or not folder.is_dir():
        text, good = "The recorded stacks were left out: RIDGELINE_DATA does not lead to them.\n", True
    else:
        rows = [
            *collapsed_rows(folder / "FlameGraph"),
            *pair_rows(folder / "speedscope"),
            *refused_rows(folder / "speedscope"),
            *counted_rows(folder),
        ]
        text, good = written(rows), all(row.good for row in rows)
    print(text, end="")
    if arguments.out:
        arguments.out.write_text(text, encoding="utf-8")
    return 0 if good else 1


def written(rows: list[Row]) -> str:
    lines = ["| file | against | weight | found | |", "|---|---|---:|---|---|"]
    lines += [f"| {row.name} | {row.against} | {row.weight} | {row.found} | {'✓' if row.good else '✗'} |" for row in rows]
    return f"{sum(row.good for row in rows)} of {len(rows)} comparisons of stacks agree.\n\n" + "\n".join(lines) + "\n"


def collapsed_rows(folder: Path) -> list[Row]:
    """Each `perf script` text against the output of stackcollapse-perf --all; that tool drops a last sample with no blank line behind it."""
    rows = []
    for collapsed in sorted(folder.glob("*-collapsed-all.txt")):
        text = collapsed.with_name(collapsed.name.replace("-collapsed-all", ""))
        # The other tool takes the first event of the file and leaves the rest.
        stacks = read_profile(text).stacks[0]
        ours = Counter({path: round(weight * (10**9 if stacks.unit == "s" else 1)) for path, weight in by_path(stacks, as_stackcollapse).items()})
        theirs = Counter[str]()
        for line in collapsed.read_text().splitlines():
            path, _, weight = line.rpartition(" ")
            theirs[path] += int(weight)
        missing, extra = theirs - ours, ours - theirs
        dropped = not text.read_bytes().endswith(b"\n\n")
        last = last_sample(text) if dropped else 0
        good = not missing and extra.total() == last
        said = (
            "all paths and weights" + (", and the last sample that it drops" if extra else "")
            if good
            else f"{len(missing)} missing, {len(extra)} more"
        )
        rows.append(Row(text.name, "stackcollapse-perf", f"{ours.total():,}", said, good))
    return rows


def last_sample(text: Path) -> int:
    """What the last sample of a file weighs, by the last header line alone."""
    header = [line for line in text.read_text().splitlines() if line and not line[0].isspace() and line[0] != "#"][-1]
    period = re.search(r": +(\d+) \S+: *$", header)
    return int(period[1]) if period else 1


def as_stackcollapse(frame: Frame) -> str:
    """The frame as that tool spells it: without arguments of C++, unknown ones by their object, the kernel and JITs annotated."""
    name = frame.function
    if name == "[unknown]" and frame.library:
        name = f"[{os.path.basename(frame.library)}]"
    elif frame.kind == "process":
        return name.replace(" ", "_")
    else:
        name = (_JAVA.sub("", name) if "/" in name else _ARGUMENTS.sub("", name)).replace(";", ":")
    # That tool counts the page that the kernel lends to programs as the kernel.
    kernel = frame.kind == "kernel" or frame.library == "[vdso]"
    return name + ("_[k]" if kernel else {"runtime": "_[j]", "inlined": "_[i]"}.get(frame.kind, ""))


def pair_rows(folder: Path) -> list[Row]:
    """Files that hold one program in several forms."""
    rows = []
    for first, others in PAIRS.items():
        expected = by_path(read_profile(folder / first).stacks[0])
        for other in others:
            for stacks in read_profile(folder / other).stacks:
                found = by_path(stacks)
                same = found.keys() == expected.keys() and all(abs(found[path] - weight) <= 1e-9 * weight for path, weight in expected.items())
                rows.append(Row(other, first, f"{weight_of(stacks):g} {stacks.unit}", "the same paths" if same else "other paths", same))
    return rows


def refused_rows(folder: Path) -> list[Row]:
    """Files that hold no whole profile."""
    rows = []
    for name, place in REFUSED.items():
        try:
            read_profile(folder / name)
            rows.append(Row(name, "refused", "", "was read", False))
        except ReadError as error:
            rows.append(Row(name, "refused", "", f"refused at {place}", place in str(error)))
    return rows


def counted_rows(folder: Path) -> list[Row]:
    """Every perf text and collapsed file: samples against a count of header lines, weights against a sum of last columns."""
    rows = []
    for path in sorted(
        (*(folder / "speedscope/linux-perf").glob("*.txt"), *(folder / "FlameGraph").glob("*01.txt"), *folder.glob("generated/perf*.txt"))
    ):
        headers = [line for line in path.read_text().splitlines() if line and not line[0].isspace() and line[0] != "#"]
        samples = sum(stacks.samples or 0 for stacks in read_profile(path).stacks)
        rows.append(Row(path.name, "header lines", f"{samples:,} samples", f"{len(headers):,}", samples == len(headers)))
    for path in sorted((folder / "speedscope/stackcollapse").glob("*-all.txt")):
        total = sum(float(line.rsplit(" ", 1)[1]) for line in path.read_text().splitlines())
        found = whole(read_profile(path))
        rows.append(Row(path.name, "sum of the last column", f"{found:,g}", f"{total:,g}", found == total))
    return rows


def whole(profile: Profile) -> float:
    return weight_of(profile.stacks[0])


def by_path(stacks: Stacks, named: object = None) -> dict[str, float]:
    """Own weight of each path, spelled with `;`."""
    spelled = named if callable(named) else lambda frame: frame.function
    names = [spelled(frame) for frame in stacks.frames]
    paths: list[str] = []
    weights: dict[str, float] = {}
    for parent, frame, own in zip(stacks.parent.values.tolist(), stacks.frame.values.tolist(), stacks.own.values.tolist(), strict=True):
        paths.append(f"{paths[parent]};{names[frame]}" if parent >= 0 else names[frame])
        if own:
            weights[paths[-1]] = weights.get(paths[-1], 0.0) + own
    return weights


if __name__ == "__main__":
    sys.exit(main())
