"""How a delegate cut a graph, from the lines that TFLite logs about it and from the order in which nodes ran.

`Replacing K out of N node(s) with delegate (D) node, yielding P partitions`: K is the nodes that D took of this subgraph, N the nodes of the plan as
D found it (kernels of delegates before it count one each), and P the stretches of *both* kinds, those left behind included. They take turns, so D has
P ÷ 2 kernels where P is even; where odd, one more or one less, which the numbers of nodes mostly settle. `w/ M delegate kernels` says it outright.
Source: `Subgraph::ReplaceNodeSubsetsWithDelegateKernels` of TensorFlow Lite.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

import msgspec

from ridgeline.core import Caution, Partition, PartitionTable, Quantity

from .rows import NodeRow

__all__ = ["BUILTIN", "Cut", "cut_of", "partition_table", "provider_of"]

#: Kernels of TFLite itself.
BUILTIN = "builtin"
_REPLACING = re.compile(
    r"Replacing (\d{1,9})(?: out of (\d{1,9}))? node\(s\) with delegate \(([^()]{1,80})\) node(?:, yielding (\d{1,9}) partitions?)?([^\n]{0,60})"
)
_APPLIED = re.compile(
    r"(?:Explicitly a|A)pplied (\S{1,80}) delegate, and the model graph will be (completely|partially) executed (?:by|w/) the delegate"
    r"(?: w/ (\d{1,9}) delegate kernels)?"
)
_REFUSED = re.compile(r"Though (\S{1,80}) delegate is (?:explicitly )?applied, the model graph will not be executed by the delegate")
_LISTS = "operations are not supported by"
_REASON = re.compile(r"^(?:[A-Z]+: )?\s*([A-Z][A-Z0-9_]{1,60}): (.{1,200})$")
_SHORT = {"TfLiteXNNPackDelegate": "XNNPACK", "TfLiteGpuDelegateV2": "GPU", "TfLiteGpuDelegate": "GPU", "TfLiteNnapiDelegate": "NNAPI"}


class Cut(msgspec.Struct, frozen=True, kw_only=True):
    """What the log says of the primary graph.

    Args:
        delegate: the one that took most nodes, as the project calls it; delegates: all, by the name in the profile.
        taken, nodes: K and N of that delegate; runs: P; kernels: of that delegate; null where not said.
        refused: kind → reason, from the list of a GPU delegate.
    """

    delegate: str
    delegates: tuple[str, ...] = ()
    taken: int | None = None
    nodes: int | None = None
    runs: int | None = None
    kernels: int | None = None
    refused: dict[str, str] = {}
    warnings: tuple[Caution, ...] = ()


class _Line(msgspec.Struct, frozen=True):
    taken: int
    nodes: int | None
    delegate: str
    runs: int | None


def provider_of(kind: str) -> str:
    """The delegate whose kernel a node of this type is, as the project calls it; empty for an operator."""
    head = kind.split("/", 1)[0].strip()
    if head in _SHORT:
        return _SHORT[head]
    return head.removeprefix("TfLite").removesuffix("Delegate") or head if re.fullmatch(r"\w{0,60}Delegate(?:V\d)?", head) else ""


def cut_of(lines: list[str]) -> Cut | None:
    """What the lines say of delegation, or `None` where they say nothing."""
    replaced = [
        _Line(int(m[1]), int(m[2]) if m[2] else None, m[3], int(m[4]) if m[4] else None) for m in map(_replacing, lines) if m and _primary(m[5])
    ]
    applied = [match for line in lines if "delegate, and" in line and (match := _APPLIED.search(line))]
    refused = next((match for line in lines if "will not be executed" in line and (match := _REFUSED.search(line))), None)
    if not replaced and not applied and refused is None:
        return None
    if not replaced:
        return _said(applied, refused, lines)
    most = max(replaced, key=lambda line: line.taken)
    name = provider_of(most.delegate) or most.delegate
    said = [match for match in applied if match[1].casefold() in (name.casefold(), most.delegate.casefold())] or (
        applied if len(replaced) == 1 else []
    )
    return _counted(most, name, replaced, said, lines)


def _replacing(line: str) -> re.Match[str] | None:
    return _REPLACING.search(line) if "Replacing " in line else None


def _primary(tail: str) -> bool:
    """Whether a line is about the primary graph: it says so, says nothing, or means all of it."""
    found = re.search(r"subgraph (\d+)", tail)
    return found is None or int(found[1]) == 0


def _said(applied: list[re.Match[str]], refused: re.Match[str] | None, lines: list[str]) -> Cut:
    if not applied:
        assert refused is not None
        return Cut(delegate=refused[1], delegates=(refused[1],), taken=0, kernels=0, refused=_reasons(lines))
    last = applied[-1]
    kernels = int(last[3]) if last[3] else 1 if last[2] == "completely" else None
    return Cut(delegate=last[1], delegates=(last[1],), kernels=kernels, runs=1 if last[2] == "completely" else None, refused=_reasons(lines))


def _counted(most: _Line, name: str, replaced: list[_Line], said: list[re.Match[str]], lines: list[str]) -> Cut:
    kernels = next((int(match[3]) for match in said if match[3]), 1 if any(match[2] == "completely" for match in said) else None)
    warnings: list[Caution] = []
    if kernels is None and most.runs is not None:
        kernels, unsure = _kernels(most)
        if unsure:
            warnings.append(_unsure(most, kernels))
    if len(replaced) > 1:
        warnings.append(_several(replaced))
    if kernels is not None and most.runs is not None and abs(2 * kernels - most.runs) > 1:
        warnings.append(
            Caution(
                code="partitions-disagree", message=f"{kernels} delegate kernels do not fit {most.runs} partitions", effect="the kernels are counted"
            )
        )
    names = tuple(dict.fromkeys(provider_of(line.delegate) or line.delegate for line in replaced))
    return Cut(
        delegate=name,
        delegates=names,
        taken=most.taken,
        nodes=most.nodes,
        runs=most.runs,
        kernels=kernels,
        refused=_reasons(lines),
        warnings=tuple(warnings),
    )


def _kernels(line: _Line) -> tuple[int, bool]:
    """Kernels of the delegate among P stretches that take turns, and whether P does not settle them; then the least there can be."""
    assert line.runs is not None
    low, high = line.runs // 2, (line.runs + 1) // 2
    left = line.nodes - line.taken if line.nodes is not None else None
    possible = [
        count
        for count in sorted({low, high})
        if count <= line.taken
        and (count > 0) == (line.taken > 0)
        and (left is None or (line.runs - count <= left and (left == 0) == (line.runs == count)))
    ]
    return (possible[0] if possible else low), len(possible) != 1


def _unsure(line: _Line, kernels: int) -> Caution:
    message = f"{line.runs} partitions of both kinds: {kernels} or {kernels + 1} of them are on the delegate"
    return Caution(code="partitions-unsure", message=message, effect="the smaller number is given")


def _several(replaced: list[_Line]) -> Caution:
    each = ", then ".join(f"{line.delegate} {line.taken}" + (f" of {line.nodes}" if line.nodes is not None else "") for line in replaced)
    message = f"several delegates were applied one after another ({each}); kernels of the earlier ones count as one node each to the later"
    return Caution(code="several-delegates", message=message, effect="nodes and partitions are those of the delegate that took most")


def _reasons(lines: list[str]) -> dict[str, str]:
    """Kinds that a delegate lists as not supported, with its reason."""
    reasons: dict[str, str] = {}
    listing = False
    for line in lines:
        if _LISTS in line:
            listing = True
        elif listing:
            found = _REASON.match(line.strip()) if len(line) < 400 else None
            if found is None:
                listing = False
            else:
                reasons.setdefault(found[1], found[2])
    return reasons


def partition_table(cut: Cut | None, rows: Sequence[NodeRow], total_s: Sequence[float], handoff_s: float | None = None) -> PartitionTable | None:
    """Stretches of nodes on one provider, in the order in which they ran; only what the log says where it has no times.

    Args:
        rows: nodes of the primary graph in run order, without what lies within others; total_s: seconds of one run of each.
        handoff_s: of one run, where the profile has rows for it.
    """
    owner = cut.delegate if cut is not None else ""
    providers = [_provider(row, owner) for row in rows]
    if cut is None and not any(provider != BUILTIN for provider in providers):
        return None
    delegate = owner or next(provider for provider in providers if provider != BUILTIN)
    parts = tuple(
        _partition(provider, [index for index, _ in group], rows, total_s) for provider, group in groupby(enumerate(providers), lambda pair: pair[1])
    )
    kernels = cut.kernels if cut is not None and cut.kernels is not None else None
    found = _seen(parts, rows, delegate)
    instrument = "order of the nodes in the profile" if parts else ""
    return PartitionTable(
        partitions=parts,
        delegate=delegate,
        handoff_s=Quantity.exact(handoff_s, "s", source="measured", origin="rows of the profile") if handoff_s is not None else None,
        instrument=" and ".join(filter(None, ("lines of the log" if cut is not None else "", instrument))),
        count=kernels if kernels is not None else found,
        runs=_runs(cut, kernels, found, parts),
        nodes=cut.nodes if cut is not None else None,
        delegated=cut.taken if cut is not None else None,
        refused=cut.refused if cut is not None else {},
    )


def _provider(row: NodeRow, owner: str) -> str:
    return provider_of(row.kind) or ((owner or "delegate") if row.delegated else BUILTIN)


def _partition(provider: str, indices: list[int], rows: Sequence[NodeRow], total_s: Sequence[float]) -> Partition:
    seconds = sum(total_s[index] for index in indices)
    own = [rows[index] for index in indices]
    # Numbers of a delegate's own kernels are not those of nodes.
    nodes = tuple(row.node for row in own if row.node is not None) if provider == BUILTIN else ()
    total = Quantity.exact(seconds, "s", source="measured", origin="mean of the runs")
    return Partition(provider=provider, nodes=nodes if len(nodes) == len(own) else (), kinds=tuple(row.kind for row in own), total_s=total)


def _seen(parts: Sequence[Partition], rows: Sequence[NodeRow], delegate: str) -> int | None:
    """Kernels of the delegate as the profile shows them; its own operators merge where two kernels number them alike, so those tell nothing."""
    if any(row.delegated for row in rows):
        return None
    return sum(provider_of(kind) == delegate for part in parts for kind in part.kinds) or None


def _runs(cut: Cut | None, kernels: int | None, found: int | None, parts: Sequence[Partition]) -> int | None:
    if cut is not None and cut.runs is not None:
        return cut.runs
    if found is not None and (kernels is None or kernels == found):
        return len(parts)
    return None
