"""What one dispatch costs, from uninstrumented time over operator count.

A profiler makes tiny operators look several times as dear as they are, so their cost is never read from a profile. Here chains of N tiny operators,
of the kinds that the workload uses and under its grad mode, are timed for several N without any instrument; the slope of time over N is the cost of
one.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import groupby
from typing import Any

from ridgeline.core import BackendUnavailable, DispatchFit, Quantity, UsageError
from ridgeline.stats import theil_sen_slope
from ridgeline.work.torch import RecordedOp
from ridgeline.work.torch.recorded import base_name

from .events import Event, Forest
from .profiling import record_or_explain
from .table import median_seconds
from .trace import take

__all__ = ["count_operators", "fit_dispatch"]

_CHAIN = 64
_UNARY = (
    "relu", "neg", "abs", "exp", "log", "sqrt", "rsqrt", "sin", "cos", "tanh", "sigmoid", "erf", "reciprocal", "round", "floor", "sign", "square",
    "sum", "mean", "clone", "ones_like", "zeros_like", "empty_like",
)  # fmt: skip
_BINARY = ("add", "sub", "mul", "div", "maximum", "minimum", "eq", "lt", "gt")


def count_operators(call: Callable[[], Any]) -> int:
    """Operators that one call dispatches, views not counted; where the call cannot be recorded, the top-level ones of a profile."""
    ops, failed = record_or_explain(call)
    if failed:
        return sum(len(Forest(list(events)).roots()) for _, events in groupby(_by_lane(take(call)[0].events), key=lambda event: event.lane))
    return sum(not op.is_view for op in ops)


def _by_lane(events: Sequence[Event]) -> list[Event]:
    return sorted(events, key=lambda event: event.lane)


def fit_dispatch(ops: Sequence[RecordedOp], *, counts: Sequence[int] = (10, 30, 100, 300), repetitions: int = 11) -> DispatchFit:
    """Seconds of one dispatch: per repetition the Theil–Sen slope of time over N, over all repetitions their median with its interval.

    Args:
        ops: record of one call of the workload: which kinds to issue, under which grad mode, and how many operators a call has.
        counts: chain lengths, at least two different ones.
        repetitions: passes over all lengths, in turn, so that a slow drift hits every length alike.

    Raises:
        BackendUnavailable: torch is not installed.
        UsageError: fewer than two chain lengths, or fewer than one repetition.
    """
    if len(set(counts)) < 2 or min(counts) < 1 or repetitions < 1:
        raise UsageError("two chain lengths ≥ 1 and a repetition", found=f"counts {tuple(counts)}, {repetitions} repetitions", remedy="give more")
    try:
        import torch
    except ImportError as error:
        raise BackendUnavailable("PyTorch", found=str(error), remedy="pip install 'ridgeline[torch]'") from error
    working = [op for op in ops if not op.is_view]
    graph = any(op.graph for op in working)
    with ExitStack() as stack:
        stack.enter_context(_grad_mode(torch, working, graph))
        chain, kinds = _chain(torch, working, graph)
        slopes = [_slope(chain, counts) for _ in range(repetitions + 1)][1:]  # the first pass warms up
    mode = "inference mode" if any(op.inference for op in working) else "grad" if graph else "no grad"
    lengths = ", ".join(str(count) for count in counts)
    how = f"chains of {lengths} tiny operators ({', '.join(kinds)}), {mode}; Theil–Sen slope, {repetitions} repetitions"
    return DispatchFit(per_operator_s=_positive(slopes), operators=float(len(working)), library="torch", how=how)


def _positive(slopes: list[float]) -> Quantity:
    # A slope under zero is noise about a cost that cannot be negative.
    return median_seconds([max(0.0, slope) * 1e9 for slope in slopes], "slope of time over operator count")


def _slope(chain: Sequence[Callable[[], Any]], counts: Sequence[int]) -> float:
    lengths = sorted(set(counts))
    return theil_sen_slope([_time(chain, count) for count in lengths], lengths)[0]


def _time(chain: Sequence[Callable[[], Any]], count: int) -> float:
    steps = [chain[index % len(chain)] for index in range(count)]
    start = time.perf_counter()
    for step in steps:
        step()
    return time.perf_counter() - start


def _grad_mode(torch: Any, ops: Sequence[RecordedOp], graph: bool) -> Any:
    if any(op.inference for op in ops):
        return torch.inference_mode()
    return torch.enable_grad() if graph else torch.no_grad()


def _chain(torch: Any, ops: Sequence[RecordedOp], graph: bool) -> tuple[list[Callable[[], Any]], list[str]]:
    """Tiny operators in the proportions of the workload, spread evenly, and their names."""
    tiny = _tiny_operators(torch, graph)
    wanted = Counter(name for op in ops if (name := _flavour(op)) in tiny)
    if not wanted:
        wanted = Counter({"add": 1})
    common = wanted.most_common(8)
    total = sum(count for _, count in common)
    # (k + ½) ÷ n places n copies of a kind at even distances along the chain.
    places = [((k + 0.5) / n, name) for name, count in common for n in (max(1, round(_CHAIN * count / total)),) for k in range(n)]
    return [tiny[name] for _, name in sorted(places)], [name for name, _ in common]


def _flavour(op: RecordedOp) -> str:
    """Base name; with a plain number as second operand, which first becomes a tensor and so costs more, marked as such."""
    number = len(op.inputs) == 1 and isinstance(op.arguments.get("other"), int | float)
    return f"{base_name(op.kind)} number" if number else base_name(op.kind)


def _tiny_operators(torch: Any, graph: bool) -> dict[str, Callable[[], Any]]:
    """One call on a handful of elements for each kind of operator that is common in programs."""
    functional = torch.nn.functional
    x, y = torch.ones(4, requires_grad=graph), torch.ones(4)
    matrix, weight = torch.ones(2, 2, requires_grad=graph), torch.ones(2, 2)
    batch, image, kernel = torch.ones(1, 2, 2, requires_grad=graph), torch.ones(1, 1, 3, 3, requires_grad=graph), torch.ones(1, 1, 1, 1)
    index, target = torch.zeros(1, dtype=torch.int64), torch.ones(4)
    tiny: dict[str, Callable[[], Any]] = {name: partial(getattr(torch, name), x) for name in _UNARY}
    tiny |= {name: partial(getattr(torch, name), x, y) for name in _BINARY}
    tiny |= {f"{name} number": partial(getattr(torch, name), x, 2.0) for name in _BINARY[:4]}
    tiny |= {
        "mm": lambda: torch.mm(matrix, weight),
        "bmm": lambda: torch.bmm(batch, batch),
        "addmm": lambda: torch.addmm(y[:2], matrix, weight),
        "mv": lambda: torch.mv(matrix, y[:2]),
        "convolution": lambda: torch.conv2d(image, kernel),
        "clamp": lambda: torch.clamp(x, 0.0, 1.0),
        "pow": lambda: torch.pow(x, 2.0),
        "where": lambda: torch.where(y > 0, x, y),
        "cat": lambda: torch.cat((x, y)),
        "stack": lambda: torch.stack((x, y)),
        "copy": lambda: target.copy_(y),
        "fill": lambda: target.fill_(1.0),
        "gelu": lambda: functional.gelu(x),
        "silu": lambda: functional.silu(x),
        "_softmax": lambda: torch.softmax(x, 0),
        "native_layer_norm": lambda: functional.layer_norm(x, (4,)),
        "embedding": lambda: functional.embedding(index, matrix),
        "index_select": lambda: torch.index_select(x, 0, index),
        "amax": lambda: torch.amax(x),
        "zeros": lambda: torch.zeros(4),
        "_to_copy": lambda: y.to(torch.float64),
    }
    return tiny
