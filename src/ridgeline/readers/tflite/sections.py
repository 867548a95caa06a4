"""The profiles within a log of `benchmark_model`: initialisation and runs, the primary graph, subgraphs, and what delegates report of themselves.

This module decides which rows belong to which profile. `Run Order` is what is kept: the other tables repeat its rows or sum them. Sections are told
by what stands in a line, not by where: logs come with prefixes of Android, of iOS, of LiteRT, indented, and with lines between.
"""

from __future__ import annotations

import math
import re

import msgspec

from .rows import Header, KindRow, NodeRow, header_of, kind_row, node_row

__all__ = ["Section", "Timings", "sections_of", "timings_of"]

_SUBGRAPH = re.compile(r"Subgraph \(index: (\d{1,6})")
_STAT = re.compile(r"\b(count|first|curr|min|max|avg|std)=([-+0-9.eE]{1,40})")
_PHASES = {"Profiling Info for Benchmark Initialization": "initialization", "Operator-wise Profiling Info": "runs"}


class Timings(msgspec.Struct, frozen=True, kw_only=True):
    """A line of statistics over `count` runs, in µs as written; null where the tool leaves a value out (as where there is one run)."""

    count: int
    mean_us: float
    first_us: float | None = None
    deviation_us: float | None = None


class Section(msgspec.Struct, kw_only=True):
    """One profile.

    Args:
        phase: `initialization` or `runs`; graph: `primary graph`, `subgraph 1`, `delegate internal`.
        nodes: rows in run order; kinds: rows of the summary by type.
        timings: of the runs it covers: sums of its nodes, not a wall; observed: how many nodes the tool says there are.
        line: where it begins.
    """

    phase: str
    graph: str
    nodes: list[NodeRow] = []
    kinds: list[KindRow] = []
    timings: Timings | None = None
    observed: int | None = None
    line: int = 0

    @property
    def closed(self) -> bool:
        """Whether its last lines were seen: what follows is another one."""
        return self.observed is not None


def timings_of(line: str) -> Timings | None:
    """The statistics of a line such as `count=50 first=79449 curr=81350 min=77385 max=88213 avg=79732 std=1929`."""
    if "count=" not in line:
        return None
    found = {name: float(text) for name, text in _STAT.findall(line) if _is_number(text)}
    count, mean = found.get("count", 0.0), found.get("avg", found.get("curr"))
    if not 1 <= count < 2**53 or mean is None or mean < 0:
        return None
    return Timings(count=int(count), mean_us=mean, first_us=found.get("first", found.get("curr")), deviation_us=found.get("std"))


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


class _Sections:
    """Where in a log we are, and what was found so far."""

    def __init__(self) -> None:
        self.phase = "runs"
        self.graph = "primary graph"
        self.found: list[Section] = []
        self.header: Header | None = None
        self.kept = True

    def take(self, line: str, number: int) -> None:
        """One line, without its end."""
        if self._moves(line, number):
            return
        header = header_of(line)
        if header is not None:
            self.header = header
            # A second list of nodes in one section is the one sorted by time.
            self.kept = header.of == "kinds" or not self._current(number).nodes
        elif self.header is not None and self.kept:
            self._row(line, number, self.header)

    def _moves(self, line: str, number: int) -> bool:
        """Whether the line says where we are, or closes a section."""
        for text, phase in _PHASES.items():
            if text in line:
                self.phase, self.graph, self.header = phase, "primary graph", None
                return True
        subgraph = _SUBGRAPH.search(line)
        if subgraph or "Primary graph" in line or line.rstrip().endswith("Delegate internal:"):
            index = int(subgraph[1]) if subgraph else 0
            self.graph = f"subgraph {index}" if index else "primary graph" if "Delegate internal" not in line else "delegate internal"
        if "Timings (microseconds)" in line:
            self._current(number).timings, self.header = timings_of(line), None
            return True
        observed = re.search(r"(\d{1,9}) nodes observed", line)
        if observed:
            self._current(number).observed, self.header = int(observed[1]), None
            return True
        return subgraph is not None

    def _row(self, line: str, number: int, header: Header) -> None:
        if header.of == "nodes":
            row = node_row(line, header, number)
            if row is not None:
                self._current(number).nodes.append(row)
        else:
            kind = kind_row(line, header, number)
            if kind is not None:
                self._current(number).kinds.append(kind)

    def _current(self, number: int) -> Section:
        last = self.found[-1] if self.found else None
        if last is None or last.closed or (last.phase, last.graph) != (self.phase, self.graph):
            last = Section(phase=self.phase, graph=self.graph, line=number)
            self.found.append(last)
        return last


def sections_of(lines: list[str], first: int = 1) -> list[Section]:
    """The profiles in the lines of a log, those that hold rows; `first` is the number of its first line."""
    sections = _Sections()
    for number, line in enumerate(lines, first):
        sections.take(line, number)
    return [section for section in sections.found if section.nodes or section.kinds]
