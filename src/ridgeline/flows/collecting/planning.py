"""What a collection measures next: first evenly over all forms, then where it knows least, and once more what was disturbed.

How sure it is comes from interpolation between the rows of a form: each row's error when it is left out (`model.learned.kriging`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ridgeline.core import UsageError, Workload
from ridgeline.model.design import first, where_unsure
from ridgeline.model.families import demand
from ridgeline.model.learned.kriging import krige
from ridgeline.targets.onnx_blocks import Order, size_of

from .journal import Measured
from .rows import around, disturbed, operator_s

__all__ = ["Asked", "asked", "errors_left_out", "plan"]

#: Part of the time in which the design is even.
_EVEN_PART = 0.6
#: Workloads that are drawn at once where the model is unsure.
_ROUND = 400
_COPIES = (2, 64)
#: Of operators with weights, the part before whose blocks more is read than caches hold, and how many bytes: in a network weights come from memory
#: however few they are.
_SWEPT_PART, _SWEPT = 0.5, (3.2e7, 9.6e7)
#: Seconds that a swept block takes at slow rates at the least, for reading takes one or two milliseconds of its own; and what is enough.
_SWEPT_BLOCK_S = (0.004, 0.012)
#: Weights of one operator from which it is its own neighbour: no cache keeps them until the next call.
_ALONE = 1e8
#: Orders of writing and freeing: of operators without weights, and of those with weights, for which it counts where these come from.
_ORDERS: tuple[Order, ...] = ("turn", "first", "kept", "kept")
_ORDERS_OF_WEIGHTS: tuple[Order, ...] = ("turn", "turn", "first")
#: Bytes that the copies of a block touch: from what stays in a cache to what does not stay in any.
_TOUCHED = (5e5, 1.2e8)
#: A network holds at least so many times the weights of one of its operators: heavy ones come from memory there.
_WEIGHTS_OF_OTHERS = 8
_BLOCK_S = 0.03
#: Rates that every machine in use reaches, to tell beforehand how long a block may take.
_SLOW_FLOP_PER_S, _SLOW_BYTE_PER_S = 1.5e11, 1e10
#: Operators that do nothing in the blocks that come first.
_CALLS = (1, 8, 64, 1, 8, 64)


class Asked(NamedTuple):
    """A block to be measured: the form and number of its workload in the design, and how it stands in the block."""

    form: str
    number: int
    work: Workload
    copies: int
    order: Order
    swept_bytes: int = 0


def asked(form: str, number: int, work: Workload, seed: int) -> Asked | None:
    """How a workload stands in its block, drawn by its number; null if it is no operator of the runtime."""
    if work.kind == "call":
        return Asked(form, number, work, max(1, work.sizes["nodes"] // 2), "turn")
    try:
        size = size_of(work)
    except UsageError:
        return None
    generator = np.random.default_rng((seed, abs(number), len(form)))
    touched = math.exp(generator.uniform(*np.log((min(_TOUCHED[1], max(_TOUCHED[0], _WEIGHTS_OF_OTHERS * size.weights)), _TOUCHED[1]))))
    orders = _ORDERS_OF_WEIGHTS if size.weights else _ORDERS
    order = orders[int(generator.integers(len(orders)))]
    own = size.weights + (size.inputs if order != "turn" else 0) + (size.results if order == "kept" else 0) + 64
    slow_s = float(demand(work.kind, work.sizes).flop) / _SLOW_FLOP_PER_S + (size.weights + size.inputs + size.results) / _SLOW_BYTE_PER_S
    least = _COPIES[0] if size.weights < _ALONE else 1
    if size.weights and generator.random() < _SWEPT_PART:
        copies = int(np.clip(round(_SWEPT_BLOCK_S[1] / slow_s), least, max(least, min(_COPIES[1], int(_TOUCHED[1] / own)))))
        if copies * slow_s >= _SWEPT_BLOCK_S[0]:
            return Asked(form, number, work, copies, order, int(math.exp(generator.uniform(*np.log(_SWEPT)))))
    most = max(least, min(_COPIES[1], int(_BLOCK_S / max(slow_s, 1e-9))))
    return Asked(form, number, work, int(np.clip(round(touched / own), least, most)), order)


def plan(rows: Sequence[Measured], seed: int, part_done: Callable[[], float], peak_flop_per_s: float = 0.0) -> Iterator[Asked]:
    """Blocks without end.

    Args:
        rows: those measured so far, of which more come while this is asked; seed: of the design.
        part_done: of the time, from 0 to 1; peak_flop_per_s: by which rows beside a neighbour are told.
    """
    yield from _calls(rows)
    yield from _even(rows, seed, part_done)
    last = 0
    while True:
        yield from _again(rows, last, peak_flop_per_s)
        last = len(rows)
        drawn = where_unsure(errors_left_out(rows, peak_flop_per_s), _ROUND, seed + last)
        for place, (form, work) in enumerate(drawn):
            found = asked(form, -(last + place + 1), work, seed)
            if found is not None:
                yield found


def _calls(rows: Sequence[Measured]) -> Iterator[Asked]:
    """What is taken off every row comes first."""
    if sum(row.block is not None and row.block.work.kind == "call" for row in rows) < len(_CALLS):
        for copies in _CALLS:
            yield Asked("call", -1, Workload(kind="call", sizes={"nodes": 2 * copies}), copies, "turn")


def _even(rows: Sequence[Measured], seed: int, part_done: Callable[[], float]) -> Iterator[Asked]:
    done = max((row.number for row in rows), default=-1)
    for number, (form, work) in enumerate(first(seed)):
        if number <= done:
            continue
        if part_done() >= _EVEN_PART:
            return
        found = asked(form, number, work, seed)
        if found is not None:
            yield found


def _again(rows: Sequence[Measured], since: int, peak_flop_per_s: float) -> Iterator[Asked]:
    """What a neighbour disturbed, once more."""
    noisy = disturbed(rows, peak_flop_per_s)
    for place in range(since, len(rows)):
        block = rows[place].block
        if noisy[place] and block is not None and block.work.kind != "call":
            work = Workload(kind=block.work.kind, sizes=block.work.sizes, variant=block.work.variant, layout=block.work.layout,
                            precision=block.work.precision, weight_precision=block.work.weight_precision)  # fmt: skip
            yield Asked(rows[place].form, -(len(rows) + place + 1), work, block.copies, block.order, block.swept_bytes)


def errors_left_out(rows: Sequence[Measured], peak_flop_per_s: float = 0.0) -> dict[str, list[tuple[Workload, float]]]:
    """Of each form, each row with the absolute error of its logarithm when the others interpolate it."""
    beside, noisy = around(rows, peak_flop_per_s), disturbed(rows, peak_flop_per_s)
    by_form: dict[str, list[tuple[Workload, float]]] = {}
    for row, busy in zip(rows, noisy, strict=True):
        if row.block is not None and not busy:
            by_form.setdefault(row.form, []).append((row.block.work, math.log(operator_s(row, beside))))
    return {form: _left_out(known[-1500:]) for form, known in by_form.items()}


def _left_out(known: Sequence[tuple[Workload, float]]) -> list[tuple[Workload, float]]:
    works = [work for work, _ in known]
    if len(works) < 8:
        return [(work, 1.0) for work in works]
    names = sorted({name for work in works for name in work.sizes})
    variants = sorted({f"{work.layout} {work.variant}" for work in works})
    needs = [demand(work.kind, work.sizes) for work in works]
    columns = [[math.log1p(work.sizes.get(name, 0)) for name in names] for work in works]
    for row, work, need in zip(columns, works, needs, strict=True):
        row += [math.log1p(float(part)) for part in need]
        row += [math.log(distance or 1.0) / 2 for distance in (work.reuse_bytes, work.age_bytes, work.result_age_bytes)]
        row += [float(f"{work.layout} {work.variant}" == variant) for variant in variants]
    sites, values = np.array(columns), np.array([[value] for _, value in known])
    # The plane through the logarithms first: what is interpolated is what it leaves.
    flat = np.column_stack((sites, np.ones(len(sites))))
    values = values - flat @ np.linalg.lstsq(flat, values, rcond=1e-6)[0]
    held = krige(sites, values, sites[:0], scale=np.full(sites.shape[1], 3.0), noise=0.03).held
    return list(zip(works, np.abs(held[:, 0] - values[:, 0]).tolist(), strict=True))
