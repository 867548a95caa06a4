"""How a graph was cut between providers: partitions, fallback operators, the cost of each boundary, and what one partition would give.

This module decides from whatever the file tells: the partitions a runtime logs (TFLite), providers of the nodes on a timeline (onnxruntime), or
providers, devices and reformats of the layers of a table (OpenVINO, Core ML, TensorRT). Counts are those of `diagnose`: seven partitions are six
hand-offs. Whether the cut limits the program is left to `diagnosis.traces`.

The cost of a boundary on a timeline is the time from the end of the last node on one side to the start of the first on the other, copies between them
included, less the median of that between neighbours on one provider: what is left would not be there without the boundary. One partition with more
than 95 % of the nodes is how a delegated graph should look (the method, operator profilers).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise

from ridgeline.core import BoundaryCost, Partition, PartitionReport, PartitionTable, Profile, ProfileRow, ProfileTable

from .placements import Placements, placements_of

__all__ = ["partition_report", "without_boundaries"]

_HEALTHY = 0.95
_MOST_BOUNDARIES = 200
#: Providers that run what no other took: never the one that was asked for, where there is another.
_GENERAL = ("CPUExecutionProvider", "CPU", "cpu", "builtin")
#: Those that compile a partition into one node, so that nobody can count what is in it.
_COMPILING = frozenset(
    f"{name}ExecutionProvider" for name in ("Tensorrt", "NvTensorRTRTX", "OpenVINO", "QNN", "CoreML", "Nnapi", "VitisAI", "MIGraphX", "CANN", "SNPE")
)
#: Layers that only convert what others give each other, by the kind that readers say.
_REFORMATS = ("reformat", "reorder", "layout", "copy")


def partition_report(profile: Profile) -> PartitionReport | None:
    """The cut that a profile shows, or `None` where it tells nothing of providers."""
    if profile.partitions is not None:
        return _of_table(profile.partitions, profile)
    placed = placements_of(profile.timeline) if profile.timeline is not None else None
    if placed is not None:
        return _of_placements(placed)
    for table in profile.tables:
        found = _of_rows(table) if not table.within and table.of in ("operators", "layers") else None
        if found is not None:
            return found
    return None


def without_boundaries(whole_s: float, fallback_s: float, boundary_s: float | None, delegated_s: float) -> tuple[float, float]:
    """(low, high) of one run if the fallback operators ran where the rest does.

    Args:
        whole_s: of one run now; fallback_s: of the operators that fell back; delegated_s: of the others.
        boundary_s: what the boundaries cost; null if not known, then it is anything up to what no operator takes.

    High: only the boundaries go, the operators take as long as now. Low: they take no time either.

    >>> low, high = without_boundaries(21.0, 4.0, 9.0, 8.0)
    >>> (low, high)
    (8.0, 12.0)
    """
    if boundary_s is None:
        return min(delegated_s, whole_s), whole_s
    high = max(0.0, whole_s - boundary_s)
    return max(0.0, high - fallback_s), high


def _healthy(largest: int | None, count: int, delegated: int, nodes: int, runs: int) -> bool | None:
    """Whether one partition has over 95 % of the nodes; where its size is not known, no if even the largest that there could be has not."""
    if runs <= 1 and delegated == nodes:
        return True
    if largest is not None:
        return largest > _HEALTHY * nodes
    return False if delegated - max(0, count - 1) <= _HEALTHY * nodes else None


def _of_table(table: PartitionTable, profile: Profile) -> PartitionReport | None:
    """From partitions that the runtime says, with times where a profile has them."""
    parts = table.partitions
    taken = [part for part in parts if part.provider == table.delegate]
    others = [part for part in parts if part.provider != table.delegate]
    count = table.count if table.count is not None else len(taken)
    runs = table.runs if table.runs is not None else len(parts)
    delegated = table.delegated if table.delegated is not None else _nodes(taken)
    nodes = table.nodes if table.nodes is not None else delegated + _nodes(others)
    if not nodes and not count and not table.refused:
        return None
    sizes = [len(part.nodes) for part in taken if part.nodes]
    largest = delegated if count == 1 else max(sizes) if len(sizes) == count and sizes else None
    handoff = table.handoff_s.value if table.handoff_s is not None else None
    whole = _whole(profile, parts, handoff)
    # What entering the one partition takes is no cost of a boundary.
    handoff = handoff if runs > 1 else None
    return PartitionReport(
        count=count,
        runs=max(runs, count),
        nodes=nodes,
        delegated=delegated,
        handoffs=max(0, count - 1),
        handoff_s=handoff,
        fallbacks=_ranked(Counter(kind for part in others for kind in part.kinds), _kind_seconds(profile)),
        boundaries=tuple(_crossed(parts)) if len(parts) == runs else (),
        without_s=_without(whole, taken, others, handoff),
        providers=_provider_seconds(parts),
        run_s=whole,
        largest=largest,
        healthy=_healthy(largest, count, delegated, nodes, runs),
        refused=table.refused,
    )


def _nodes(parts: Sequence[Partition]) -> int:
    return sum(len(part.nodes) or len(part.kinds) for part in parts)


def _kind_seconds(profile: Profile) -> dict[str, float]:
    seconds: dict[str, float] = {}
    for table in profile.tables:
        if table.of == "operators" and not table.within:
            for row in table.rows:
                seconds[row.kind] = seconds.get(row.kind, 0.0) + (row.own_s if row.own_s is not None else row.total_s)
    return seconds


def _ranked(kinds: Mapping[str, int], seconds: Mapping[str, float]) -> dict[str, int]:
    return {kind: kinds[kind] for kind in sorted(kinds, key=lambda kind: (-seconds.get(kind, 0.0), -kinds[kind], kind))}


def _crossed(parts: Sequence[Partition]) -> list[BoundaryCost]:
    """Boundaries in order, of which only the place is known."""
    return [
        BoundaryCost(
            source=first.provider,
            target=second.provider,
            crossings=1,
            total_s=None,
            after=first.kinds[-1] if first.kinds else "",
            before=second.kinds[0] if second.kinds else "",
        )
        for first, second in pairwise(parts[: _MOST_BOUNDARIES + 1])
    ]


def _whole(profile: Profile, parts: Sequence[Partition], handoff_s: float | None) -> float | None:
    """Seconds of one run: the wall where there is one, and no less than what its parts take."""
    wall = next((table.wall_s for table in profile.tables if table.of == "operators" and table.per_call and table.wall_s is not None), None)
    times = [part.total_s.value for part in parts if part.total_s is not None]
    known = bool(parts) and len(times) == len(parts)
    return max(wall or 0.0, sum(times) + (handoff_s or 0.0)) if known else wall


def _without(whole: float | None, taken: Sequence[Partition], others: Sequence[Partition], handoff_s: float | None) -> tuple[float, float] | None:
    """Nothing where there is no fallback, or its time is not known."""
    times = [part.total_s.value for part in (*taken, *others) if part.total_s is not None]
    if whole is None or not others or not taken or len(times) < len(taken) + len(others):
        return None
    delegated = sum(times[: len(taken)])
    return without_boundaries(whole, sum(times[len(taken) :]), handoff_s, delegated)


def _provider_seconds(parts: Sequence[Partition]) -> dict[str, float]:
    seconds: dict[str, float] = {}
    for part in parts:
        if part.total_s is not None:
            seconds[part.provider] = seconds.get(part.provider, 0.0) + part.total_s.value
    return seconds


def _main(nodes: Mapping[str, int]) -> str:
    """The provider that the graph was meant for: the one with most nodes among those that do not just take what is left."""
    special = {name: count for name, count in nodes.items() if name not in _GENERAL}
    return max(sorted(special or nodes), key=lambda name: nodes[name])


def _of_placements(placed: Placements) -> PartitionReport:
    """From the nodes of a timeline, in order of their starts, as means over its runs."""
    main = _main(placed.nodes)
    count, seen = placed.stretches(main)
    compiled = main in _COMPILING and placed.crossings > 0
    largest = None if compiled else seen
    nodes = sum(placed.nodes.values())
    delegated = placed.nodes[main]
    boundaries = placed.boundaries()
    cost = sum(boundary.total_s or 0.0 for boundary in boundaries)
    handoff = cost if placed.crossings else None
    kinds, seconds = placed.fallbacks(main)
    fallback = sum(placed.seconds.get(name, 0.0) for name in placed.nodes if name != main)
    without = without_boundaries(placed.whole_s, fallback, cost, placed.seconds[main]) if placed.crossings else None
    return PartitionReport(
        count=count,
        runs=placed.crossings + 1,
        nodes=nodes,
        delegated=delegated,
        handoffs=max(0, count - 1),
        handoff_s=handoff,
        fallbacks=_ranked(kinds, seconds),
        boundaries=tuple(sorted(boundaries, key=lambda boundary: -(boundary.total_s or 0.0))[:_MOST_BOUNDARIES]),
        without_s=without,
        providers=placed.seconds,
        run_s=placed.whole_s,
        largest=largest,
        healthy=None if compiled else _healthy(largest, count, delegated, nodes, placed.crossings + 1),
    )


def _is_reformat(row: ProfileRow) -> bool:
    return row.texts.get("purpose", "") in ("layout", "copy") or row.kind.casefold() in _REFORMATS


def _of_rows(table: ProfileTable) -> PartitionReport | None:
    """From the layers of a table in their order: stretches of one provider or device, or between reformats where all are on one."""
    layers = [row for row in table.rows if not _is_reformat(row)]
    reformats = [row for row in table.rows if _is_reformat(row)]
    places = [row.provider or row.device for row in layers]
    if not layers or (len(set(places)) < 2 and not reformats and not any(row.provider for row in layers)):
        return None
    main = _main(Counter(places))
    stretches = [(key[0], list(group)) for key, group in groupby(_keyed(table.rows), lambda pair: pair[0])]
    taken = [rows for place, rows in stretches if place == main]
    fallback = [row for row in layers if (row.provider or row.device) != main]
    seconds: dict[str, float] = {}
    for row in layers:
        place = row.provider or row.device or "layers"
        seconds[place] = seconds.get(place, 0.0) + _own(row)
    boundaries = _between(table.rows)
    timed = [boundary.total_s for boundary in boundaries if boundary.total_s is not None]
    handoff = sum(timed) if timed else None
    # Reformats of the network's inputs and outputs lie on no boundary.
    whole = sum(seconds.values()) + sum(map(_own, reformats))
    whole = max(table.wall_s or 0.0, whole) if table.per_call else whole
    spent = sum(map(_own, fallback))
    return PartitionReport(
        count=len(taken),
        runs=len(stretches),
        nodes=len(layers),
        delegated=len(layers) - len(fallback),
        handoffs=max(0, len(taken) - 1),
        handoff_s=handoff,
        fallbacks=_ranked(Counter(row.kind or row.name for row in fallback), {row.kind or row.name: _own(row) for row in fallback}),
        boundaries=tuple(boundaries[:_MOST_BOUNDARIES]),
        without_s=without_boundaries(whole, spent, handoff, sum(seconds.values()) - spent) if len(stretches) > 1 else None,
        providers=seconds,
        run_s=whole,
        largest=max(map(len, taken)),
        healthy=_healthy(max(map(len, taken)), len(taken), len(layers) - len(fallback), len(layers), len(stretches))
        if fallback or not reformats
        else None,
    )


def _own(row: ProfileRow) -> float:
    return row.own_s if row.own_s is not None else row.total_s


def _keyed(rows: Sequence[ProfileRow]) -> list[tuple[tuple[str, int], ProfileRow]]:
    """Layers with their stretch: it ends where the place changes or a reformat stands between."""
    keyed, number = [], 0
    for row in rows:
        if _is_reformat(row):
            number += 1
        else:
            keyed.append(((row.provider or row.device, number), row))
    return keyed


def _between(rows: Sequence[ProfileRow]) -> list[BoundaryCost]:
    """Reformats between two layers with their time, and changes of place without one, whose cost no row tells.

    A reformat with a time of 0 has none of its own: whether it did nothing or was timed with a neighbour is not known.
    """
    boundaries: list[BoundaryCost] = []
    last: ProfileRow | None = None
    cost: float | None = None
    reformatted = False
    for row in rows:
        if _is_reformat(row):
            reformatted = True
            cost = (cost or 0.0) + _own(row) if _own(row) > 0 else cost
            continue
        place = row.provider or row.device
        if last is not None and (reformatted or place != (last.provider or last.device)):
            boundaries.append(
                BoundaryCost(source=last.provider or last.device, target=place, crossings=1, total_s=cost, after=last.name, before=row.name)
            )
        last, cost, reformatted = row, None, False
    return sorted(boundaries, key=lambda boundary: -(boundary.total_s or 0.0))
