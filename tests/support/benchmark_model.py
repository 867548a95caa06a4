"""`benchmark_model`'s output written anew from the calls of a known program, with the columns cut and rounded the way the tool does it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

__all__ = ["Node", "profile", "section", "statistics"]


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A row: µs of every call of it, over all runs."""

    kind: str
    name: str
    calls_us: tuple[int, ...]
    memory_kib: float = 0.0
    counted: bool = True

    @property
    def sum_us(self) -> int:
        return sum(self.calls_us)


def statistics(values: Sequence[float]) -> str:
    """`count=2 first=5 curr=7 min=5 max=7 avg=6 std=1`, or the shorter forms where there is one value."""
    if len(values) == 1:
        return f"count=1 curr={values[0]:g}"
    mean = sum(values) / len(values)
    deviation = int((sum((value - mean) ** 2 for value in values) / len(values)) ** 0.5)
    return f"count={len(values)} first={values[0]:g} curr={values[-1]:g} min={min(values):g} max={max(values):g} avg={mean:.6g} std={deviation}"


def section(nodes: Sequence[Node], runs: int, *, start: bool = False, csv: bool = False, observed: int | None = None, subgraph: str = "") -> str:
    """One profile. The runs are told as equally long: the sum of the nodes that count, ÷ runs."""
    total = sum(node.sum_us for node in nodes if node.counted) or 1
    lines = ["============================== Run Order ==============================", _header(start, csv)]
    cumulated = 0
    for node in nodes:
        cumulated += node.sum_us
        lines.append(_row(node, runs, total, cumulated, start, csv))
    lines += ["", "============================== Top by Computation Time ==============================", _header(start, csv)]
    slowest = max(nodes, key=lambda node: node.sum_us)
    lines += [_row(slowest, runs, total, slowest.sum_us, start, csv), "", f"Number of nodes executed: {len(nodes)}"]
    lines += ["============================== Summary by node type ==============================", *_kinds(nodes, runs, total, csv), ""]
    lines += [f"{subgraph}Timings (microseconds): {statistics([total / runs] * runs)}", "Memory (bytes): count=0"]
    return "\n".join([*lines, f"{len(nodes) if observed is None else observed} nodes observed", "", ""])


def profile(nodes: Sequence[Node], runs: int, wall_us: float, **options: bool) -> str:
    """A whole log of the present form, with options, walls and one profile."""
    return "\n".join(
        (
            "INFO: STARTING!", "INFO: Num threads: [2]", "INFO: Graph: [model.tflite]", "INFO: Enable op profiling: [1]",
            "INFO: The input model file size (MB): 3.27", "INFO: Initialized session in 12.5ms.",
            "INFO: Running benchmark for at least 1 iterations and at least 0.5 seconds but terminate if exceeding 150 seconds.",
            f"INFO: {statistics([wall_us * 2, wall_us])}", "",
            "INFO: Running benchmark for at least 50 iterations and at least 1 seconds but terminate if exceeding 150 seconds.",
            f"INFO: {statistics([wall_us] * max(2, runs))}", "",
            f"INFO: Inference timings in us: Init: 12500, First inference: {wall_us * 2:.0f}, Warmup (avg): 5, Inference (avg): {wall_us:.6g}",
            "INFO: Memory footprint delta from the start of the tool (MB): init=1.5 overall=2.5",
            "INFO: Operator-wise Profiling Info for Regular Benchmark Runs:", section(nodes, runs, **options),
        )
    )  # fmt: skip


def _header(start: bool, csv: bool) -> str:
    if csv:
        return f"node type, {'start, ' if start else ''}first, avg_ms, %, cdf%, mem KB, times called, name"
    return "\t".join(
        ["", "[node type]", *(["[start]"] if start else []), "[first]", "[avg ms]", "[%]", "[cdf%]", "[mem KB]", "[times called]", "[Name]"]
    )


def _row(node: Node, runs: int, total: int, cumulated: int, start: bool, csv: bool) -> str:
    mean_ms = node.sum_us / len(node.calls_us) / 1e3
    first_ms, share, cdf = node.calls_us[0] / 1e3, node.sum_us * 100 / total, cumulated * 100 / total
    called = len(node.calls_us) // runs
    if csv:
        columns = [
            node.kind,
            *(["0"] if start else []),
            f"{first_ms:.6g}",
            f"{mean_ms:.6g}",
            f"{share:.6g}%",
            f"{cdf:.6g}%",
            f"{node.memory_kib:.6g}",
            str(called),
        ]
        return ", ".join([*columns, node.name.replace(",", "\t")])
    columns = [f"{node.kind:>24}", *([f"{0:>17.3f}"] if start else []), f"{first_ms:9.3f}", f"{mean_ms:9.3f}", f"{share:7.3f}%", f"{cdf:7.3f}%"]
    return "\t".join(["", *columns, f"{node.memory_kib:10.3f}", f"{called:9d}", node.name])


def _kinds(nodes: Sequence[Node], runs: int, total: int, csv: bool) -> list[str]:
    """The summary by type, each node cut to whole µs of a run."""
    lines = [
        "node type, count, avg_ms, avg %, cdf %, mem KB, times called"
        if csv
        else "\t[Node type]\t  [count]\t  [avg ms]\t    [avg %]\t    [cdf %]\t  [mem KB]\t[times called]"
    ]
    for kind in dict.fromkeys(node.kind for node in nodes):
        own = [node for node in nodes if node.kind == kind]
        mean, share = sum(node.sum_us // runs for node in own) / 1e3, sum(node.sum_us for node in own) * 100 / total
        row = [kind, str(len(own)), f"{mean:.6g}", f"{share:.6g}%", "100%", "0", "1"]
        lines.append(", ".join(row) if csv else "\t" + "\t".join(row))
    return lines
