"""What GPU kernels have in common: tiles, efficiencies, energies and costs, read from a data file that names the source of each table.

This module decides how that file is read. What its numbers mean is said where they are used: `gemm` and `streams`.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any

import msgspec

__all__ = ["Constants", "Energy", "Generation", "Menu", "Product", "Stream", "constants"]

Tile = tuple[int, int]


class _Sourced(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    source: str


class Generation(_Sourced, frozen=True, kw_only=True):
    """Execution units of one architecture and number of fp32 lanes: see the file."""

    architecture: str
    lanes: int
    order: float
    library: str
    stacked: bool
    share: float = 1.0
    compared: str = ""


class Menu(_Sourced, frozen=True, kw_only=True):
    """Tiles (columns, rows) that a library has for single products and for batches of them."""

    library: str
    batched: tuple[Tile, ...]
    single: tuple[Tile, ...]


class Product(_Sourced, frozen=True, kw_only=True):
    """Matrix products: see `gemm`."""

    splits: tuple[int, ...]
    split_s: float
    depth: int
    hidden_steps: float
    exposed_steps: float
    launch_s: float
    bandwidth_share: float
    governor_s: float


class Energy(_Sourced, frozen=True, kw_only=True):
    """Energies in J at 12 nm, and of other nodes as a share of it."""

    flop_j: float
    near_byte_j: float
    matrix_share: float
    nodes_nm: tuple[float, ...]
    of_12nm: tuple[float, ...]


class Stream(_Sourced, frozen=True, kw_only=True):
    """Kernels that pass over their operands once or twice: see `streams`."""

    kernel_s: float
    stacked_share: float
    plain_share: float
    row_in_registers: int
    row_lanes: int
    amd_softmax_short: float
    amd_softmax_long: float
    floor_s: float
    floor_amd: float


class _Package(_Sourced, frozen=True, kw_only=True):
    device: str
    dies: int


class _TileEfficiency(_Sourced, frozen=True, kw_only=True):
    size: Tile
    efficiency: float


class _Source(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"where": "from"}):
    where: str
    read: str
    commit: str = ""


class _File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    source: dict[str, _Source]
    generation: tuple[Generation, ...]
    package: tuple[_Package, ...]
    menu: tuple[Menu, ...]
    tile: tuple[_TileEfficiency, ...]
    product: Product
    energy: Energy
    stream: Stream
    cost: dict[str, float | str]
    cost_amd: dict[str, float | str]
    floor: dict[str, float | str]


class Constants(msgspec.Struct, frozen=True, kw_only=True):
    """All of them; `efficiency` by tile, `cost` by vendor and function, `floor_s` by family."""

    generations: tuple[Generation, ...]
    dies: dict[str, int]
    menus: dict[str, Menu]
    efficiency: dict[Tile, float]
    product: Product
    energy: Energy
    stream: Stream
    cost: dict[str, float]
    cost_amd: dict[str, float]
    floor_s: dict[str, float]
    sources: dict[str, str]


@cache
def constants() -> Constants:
    """The constants of the data file that ridgeline ships."""
    text = resources.files(__package__).joinpath("data", "kernels.toml").read_text("utf-8")
    file = msgspec.convert(tomllib.loads(text), _File)
    cost = _numbers(file.cost)
    return Constants(
        generations=file.generation, dies={each.device: each.dies for each in file.package}, menus={each.library: each for each in file.menu},
        efficiency={each.size: each.efficiency for each in file.tile}, product=file.product, energy=file.energy, stream=file.stream,
        cost=cost, cost_amd=cost | _numbers(file.cost_amd), floor_s=_numbers(file.floor),
        sources={name: f"{source.where}, {source.read}" for name, source in file.source.items()},
    )  # fmt: skip


def _numbers(table: dict[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in table.items() if name != "source"}
