"""CPU profiles of V8 (`.cpuprofile` of Node.js and Chrome's developer tools): a tree of functions and the node of each sample.

This module decides what a sample weighs: the time until the next one. Without times each hit counts one. Format: type Profile of the domain Profiler
of the Chrome DevTools Protocol; times are microseconds.
"""

from __future__ import annotations

import re
from itertools import accumulate

import msgspec

from ridgeline.core import Profile, Stacks

from .source import Source
from .stacking import LeftOut, StackTree, believable, nothing

__all__ = ["CpuProfile"]

_NODES = re.compile(rb'"nodes"\s*:\s*\[\s*\{')
_CALL_FRAME = re.compile(rb'"callFrame"\s*:\s*\{')
#: Traces of Chrome carry the same nodes piece by piece in their events.
_TRACE = re.compile(rb'"(?:traceEvents|ph)"\s*:')


class _CallFrame(msgspec.Struct, rename="camel"):
    function_name: str = ""
    url: str = ""
    line_number: int = -1


class _Node(msgspec.Struct, rename="camel"):
    id: int
    call_frame: _CallFrame
    hit_count: int = 0
    children: list[int] = []
    parent: int | None = None


class _File(msgspec.Struct, rename="camel"):
    nodes: list[_Node]
    start_time: float = 0
    end_time: float = 0
    samples: list[int] = []
    time_deltas: list[float] = []


class CpuProfile:
    """Reads CPU profiles of V8."""

    format = "cpuprofile"
    title = "V8 CPU profiles (.cpuprofile of Node.js and Chrome)"

    def recognises(self, source: Source) -> int:
        """By a list of nodes with call frames."""
        head = source.head
        told = head.lstrip().startswith(b"{") and _NODES.search(head) and _CALL_FRAME.search(head)
        return 90 if told and not _TRACE.search(head) else 0

    def read(self, source: Source) -> Profile:
        """Read a profile.

        Raises:
            ReadError: damaged JSON (with the byte), nodes that are no tree, or no sample.
        """
        try:
            file = msgspec.json.decode(source.data, type=_File)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise source.damaged("a CPU profile of V8", str(error)) from error
        tree, left_out = StackTree(source), LeftOut()
        nodes = _nodes(source, tree, file)
        stacks = _timed(tree, file, nodes, left_out) if file.samples and file.time_deltas else _counted(tree, file, nodes, left_out)
        if stacks is None:
            raise nothing(source, "samples of V8", left_out.listed)
        return Profile(format=self.format, files=(source.name,), tool="V8", resolution_s=1e-6, stacks=(stacks,), excluded=left_out.listed)


def _nodes(source: Source, tree: StackTree, file: _File) -> dict[int, int]:
    """Node of the tree for each node of the file, by id."""
    above = {child: node.id for node in file.nodes for child in node.children}
    above.update({node.id: node.parent for node in file.nodes if node.parent is not None})
    known = {node.id: node for node in file.nodes}
    made: dict[int, int] = {}
    for node in file.nodes:
        path: list[int] = []
        at: int | None = node.id
        while at is not None and at not in made:
            if at not in known or len(path) > source.limits.depth:
                raise source.damaged("nodes that form a tree no deeper than the limit", f"node {node.id}", "raise the limit if it is as deep")
            path.append(at)
            at = above.get(at)
        parent = made[at] if at is not None else -1
        for each in reversed(path):
            parent = made[each] = tree.child(parent, _frame(tree, known[each].call_frame))
    return made


def _frame(tree: StackTree, call: _CallFrame) -> int:
    if call.function_name == "(root)":
        return tree.frame("(root)", kind="process")
    name = call.function_name or "(anonymous)"
    kind = "" if name.startswith("(") and name != "(anonymous)" else "runtime"
    return tree.frame(name, file=call.url or None, line=call.line_number + 1 if 0 <= call.line_number < 2**31 - 1 else None, kind=kind)


def _timed(tree: StackTree, file: _File, nodes: dict[int, int], left_out: LeftOut) -> Stacks | None:
    if len(file.samples) != len(file.time_deltas):
        left_out.add("samples or times that have no partner", "samples", abs(len(file.samples) - len(file.time_deltas)))
    at = list(accumulate(file.time_deltas[: len(file.samples)], initial=file.start_time))[1:]
    for place, (sample, begin, end) in enumerate(zip(file.samples, at, [*at[1:], max(file.end_time, at[-1])], strict=False)):
        if sample not in nodes:
            left_out.add("samples of a node that the file does not have", f"samples[{place}]")
        elif not believable(end - begin):
            left_out.add("samples that end before they begin", f"samples[{place}]")
        else:
            tree.add(nodes[sample], end - begin)
    return tree.stacks(measure="wall", unit="s", per_unit=10**6) if tree.measures else None


def _counted(tree: StackTree, file: _File, nodes: dict[int, int], left_out: LeftOut) -> Stacks | None:
    for node in file.nodes:
        if node.hit_count < 0:
            left_out.add("negative counts of hits", f"node {node.id}")
        elif node.hit_count:
            tree.add(nodes[node.id], node.hit_count, samples=node.hit_count)
    return tree.stacks(measure="samples", unit="count") if tree.measures else None
