"""What the formulas assume where neither a data sheet nor a probe says it, from a data file that names what each table rests on.

This module decides how that file is read; what its numbers mean is said there and where they are used.
"""

from __future__ import annotations

import hashlib
import tomllib
from functools import cache
from importlib import resources
from typing import Any

import msgspec

__all__ = ["Assumed", "Power", "assumed", "cost_of", "row_cost"]


class _Tile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    size: tuple[int, int]
    efficiency: float
    source: str


class Power(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Shares of the design power, and of the voltage at half of the clock."""

    static_share: float
    memory_share: float
    low_voltage: float
    source: str


class _Source(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"where": "from"}):
    where: str
    read: str


class _File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    edition: int
    source: dict[str, _Source]
    reached: dict[str, float | str]
    dispatch_s: dict[str, float | str]
    call_s: dict[str, float | str]
    barrier: dict[str, float | str]
    share: dict[str, float | str]
    tile: tuple[_Tile, ...]
    cost: dict[str, float | str]
    power: Power
    launch_s: dict[str, float | str]
    spread: dict[str, float | str]


class Assumed(msgspec.Struct, frozen=True, kw_only=True):
    """All of them.

    `reached`: shares of ceilings; `dispatch_s`: of an operator, `call_s`: of a call, by kind of device; `core_to_core_s`: of a
    cache line, `passes` of it to each hop of a barrier; `share`: of peaks;
    `tiles`: of GPUs, rows, columns and efficiency; `cost`: operations by function; `power`: shares of it; `launch_s`: of the host, by runtime;
    `spread`: of intervals; `version`: digest of the file, in which the edition of the formulas is.
    """

    reached: dict[str, float]
    dispatch_s: dict[str, float]
    call_s: dict[str, float]
    core_to_core_s: float
    passes: float
    share: dict[str, float]
    tiles: tuple[tuple[int, int, float], ...]
    cost: dict[str, float]
    power: Power
    launch_s: dict[str, float]
    spread: dict[str, float]
    version: str


@cache
def assumed() -> Assumed:
    """The constants of the data file that ridgeline ships."""
    text = resources.files(__package__).joinpath("data", "assumed.toml").read_text("utf-8")
    file = msgspec.convert(tomllib.loads(text), _File)
    return Assumed(
        reached=_numbers(file.reached), dispatch_s=_numbers(file.dispatch_s), call_s=_numbers(file.call_s),
        core_to_core_s=_numbers(file.barrier)["core_to_core_s"], passes=_numbers(file.barrier)["passes"],
        share=_numbers(file.share),
        tiles=tuple((*each.size, each.efficiency) for each in file.tile), cost=_numbers(file.cost), power=file.power,
        launch_s=_numbers(file.launch_s), spread=_numbers(file.spread), version=hashlib.sha256(text.encode()).hexdigest()[:8],
    )  # fmt: skip


def _numbers(table: dict[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in table.items() if name != "source"}


@cache
def cost_of(variant: str) -> float:
    """Operations of one element of a function, 1 where it is not known; of functions joined with `+`, their sum.

    >>> cost_of("Relu"), cost_of("Add+Sigmoid")
    (1.0, 16.0)
    """
    known = assumed().cost
    return sum(known.get(part.strip("_").lower().removeprefix("aten::"), 1.0) for part in variant.split("+"))


@cache
def row_cost(kind: str, variant: str) -> float:
    """Operations of one element of a family that works on rows, 1 for families without."""
    known = assumed().cost
    return known.get(variant.lower(), known.get(kind, 1.0)) if kind in ("softmax", "normalisation", "reduction") else 1.0
