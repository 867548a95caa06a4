"""What software and chip decide about kernels of language models: a menu of tiles and the fitted constants, read from a data file.

This module decides how that file is read. What its numbers mean is said where they are used: `gemm`, `calibrated`, `attention`, `experts`.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources

import msgspec

__all__ = ["AttentionConstants", "Collective", "Constants", "ExpertConstants", "Menu", "ProductConstants", "Rows", "Seen", "constants"]


class _Sourced(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    source: str


class Menu(_Sourced, frozen=True, kw_only=True):
    """Tiles and splits that the form chooses from, and the shares of the peaks that a long run of large tiles sustains: see `gemm`."""

    tiles: tuple[tuple[int, int], ...]
    splits: tuple[int, ...]
    peak_share: float
    stream_share: float
    tile_half: float
    wave_s: float
    split_s: float


class ProductConstants(_Sourced, frozen=True, kw_only=True):
    """Constants of products of one precision and `variant`: see `calibrated`.

    `floor_seen_s`: the most that a recorded host took to issue one; `spread`: of a device about the form with these constants, log standard
    deviation;
    `in_bytes`: of an element of the operands, with its scales.
    """

    precision: str
    variant: str = ""
    in_bytes: float
    launch_s: float
    compute: float
    memory: float
    row_s: float
    pass_bytes: float
    wave_s: float
    floor_seen_s: float
    spread: float


class AttentionConstants(_Sourced, frozen=True, kw_only=True):
    """Multipliers of the parts of attention, of one `phase`: see `attention`."""

    phase: str
    launch: float
    arithmetic: float
    memory: float
    waves: float
    spread: float


class ExpertConstants(_Sourced, frozen=True, kw_only=True):
    """Of the products of routed experts: see `experts`."""

    precision: str
    variant: str = ""
    launch_s: float
    compute: float
    memory: float
    spread: float


class Rows(_Sourced, frozen=True, kw_only=True):
    """Normalisations and elementwise operators: seconds of a kernel, share of the bandwidth, log standard deviation about it."""

    launch_s: float
    share: float
    spread: float


class Collective(_Sourced, frozen=True, kw_only=True):
    """All-reduces within a node: seconds of the kernel and of a step of a ring, share of the link's rate, log standard deviation about it."""

    start_s: float
    step_s: float
    share: float
    spread: float


class Seen(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Sizes of a family that were recorded: least and greatest."""

    kind: str
    sizes: dict[str, tuple[float, float]]


class _Source(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"where": "from"}):
    where: str
    read: str


class Constants(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All of them; `between`: log standard deviation of each constant of `calibrated.NAMES` between devices."""

    source: dict[str, _Source]
    menu: Menu
    between: tuple[float, ...]
    product: tuple[ProductConstants, ...]
    attention: tuple[AttentionConstants, ...]
    experts: tuple[ExpertConstants, ...]
    rows: Rows
    collective: Collective
    seen: tuple[Seen, ...]

    def product_of(self, precision: str, variant: str = "") -> ProductConstants | None:
        """Those of one precision and variant; `None` where nothing was recorded."""
        same = "bf16" if precision == "fp16" else precision
        return next((each for each in self.product if (each.precision, each.variant) == (same, variant)), None)

    def experts_of(self, precision: str, variant: str = "") -> ExpertConstants | None:
        """Those of one precision and variant; `None` where nothing was recorded."""
        same = "bf16" if precision == "fp16" else precision
        return next((each for each in self.experts if (each.precision, each.variant) == (same, variant)), None)

    def attention_of(self, phase: str) -> AttentionConstants:
        """Those of `prefill` or `decode`."""
        return next(each for each in self.attention if each.phase == phase)


@cache
def constants() -> Constants:
    """The constants of the data file that ridgeline ships."""
    text = resources.files(__package__).joinpath("data", "kernels.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), Constants)
