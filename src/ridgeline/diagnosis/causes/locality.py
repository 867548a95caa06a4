"""Bytes that come from far although they were near before: repeated passes over what no near cache holds.

The border to its neighbours: consecutive elementwise operators that hand each other their results are `elementwise-chain` (fuse); a weight matrix
read once per product is `weight-traffic`; one pass over data is `streaming`; a pass that computes again what was computed before is `redundant-work`.
What is left is `poor-locality`: several passes over the same buffers by operators that are not a chain, or by one operator in a loop, with a reuse
distance beyond a cache that a tile would fit into. Blocking then brings every byte once.

What a near byte is worth is best seen by running the operators on one tile again and again (`Facts.relayouts`); without that the ceilings of the
two levels bound it. The residency is by reuse distance (`residency`), so a loop over tiles is seen as what it is. Where the distance is near a
capacity, both the warm and the cold bandwidth are in the interval, and the finding says so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ridgeline.core import BufferUse, Device, Evidence, MemoryLevel, Quantity
from ridgeline.core.units import format_quantity

from ..bounds import kernel_share
from ..case import Case, Finding, Proposal, Rule
from ..ceilings import bandwidth_ceiling, mix_of
from ..chains import chains
from ..judge import BOUND_LOW, Judged
from ..repeated import IN_TILES, standing
from ..residency import level_of
from ..traffic import evidence, fraction

__all__ = ["PoorLocality", "blockable", "passed_over", "tiles"]

#: Passes over a buffer from which on blocking is worth the trouble.
_LEAST_PASSES = 1.8
#: A tile has to be at least this many times smaller than what is walked over, or nothing is gained by walking over tiles.
_SMALLER = 4.0
#: A tile shares its cache with everything else: it takes this part of it.
_TILE = 0.5
_LEAST_SHARE = 0.03
#: Running in tiles must save at least this part of the operators' time, or distance is not what they pay for.
_LEAST_SAVED = 0.1
_PASSED_OVER = ("view", "allocation", "random", "blocking", "python", "copy", "movement")


@dataclass(frozen=True, kw_only=True)
class _Blocking:
    """What walking in tiles would save: the operators, seconds of traffic now and then (low, high), passes, and the two levels."""

    parts: tuple[Judged, ...]
    moved_bytes: float
    once_bytes: float
    saved: tuple[float, float]
    near: MemoryLevel
    far: MemoryLevel

    @property
    def passes(self) -> float:
        """Bytes moved ÷ bytes if each came once."""
        return self.moved_bytes / self.once_bytes if self.once_bytes else 1.0


class PoorLocality(Rule):
    """Names `poor-locality`: the same bytes brought from far several times in one call."""

    causes = ("poor-locality",)

    def findings(self, case: Case) -> Iterator[Finding]:
        """Yield at most one finding for all operators that pass over the same buffers."""
        found = blockable(case)
        if found is None:
            return
        top = max(found.parts, key=lambda part: part.share)
        kernels = _kernels_s(found.parts)
        low, high = (kernels / max(kernels - saved, 0.02 * kernels) for saved in found.saved)
        near_edge = any(_near_edge(part, case.facts.device) for part in found.parts)
        yield Finding(
            cause="poor-locality",
            bound="bandwidth",
            share=kernel_share(case, found.parts),
            where=case.where(top),
            evidence=(
                Evidence(name="bytes moved", quantity=Quantity.exact(found.moved_bytes, "B", origin="shapes and reuse distances")),
                Evidence(name="bytes if each came once", quantity=Quantity.exact(found.once_bytes, "B", origin="shapes")),
                Evidence(name="reuse distance", quantity=Quantity.exact(top.working_set_bytes, "B", origin="order of the operators")),
                *evidence(top),
            ),
            proposals=(
                Proposal(
                    action="block",
                    because=f"in tiles that fit into {found.near.name} the {found.passes:.1f} passes bring each byte from {found.far.name} once",
                    gain=(low, high),
                ),
            ),
            summary=f"{found.passes:.1f} passes over {format_quantity(found.once_bytes, 'B')}, each from {found.far.name}"
            + ("; near that cache's capacity, so part of it may come from nearer" if near_edge else ""),
            operators=len(found.parts),
        )


def blockable(case: Case) -> _Blocking | None:
    """The operators that pass several times over buffers beyond a near cache, and what one pass would save; `None` where there is nothing.

    Where they were run in tiles, that decides. Else they must be bound by bandwidth: f_b on compulsory bytes is a lower bound, and a pass that is far
    from it may have other reasons.
    """
    parts, device = _candidates(case), case.facts.device
    if not parts or device is None:
        return None
    measured = _measured_s(case, parts, _avoidable(parts))
    if measured is not None and measured[0] < _LEAST_SAVED * _kernels_s(parts):
        return None
    if measured is None:
        parts = [part for part in parts if part.bound in ("bandwidth", "mixed")]
        f_b = fraction(parts)
        if _passes(parts) < _LEAST_PASSES or f_b is None or f_b.value < BOUND_LOW:
            return None
    near, far = _near(device, parts), level_of(device, max(part.working_set_bytes for part in parts))
    if near is None or far is None:
        return None
    saved = measured or _saved_s(device, parts, near, _avoidable(parts))
    if saved is None:
        return None
    return _Blocking(parts=tuple(parts), moved_bytes=_moved_bytes(parts), once_bytes=_once_bytes(parts), saved=saved, near=near, far=far)


def tiles(case: Case) -> dict[int, int]:
    """Rows that blocking may help → bytes of a tile; empty where there is nothing to block."""
    parts, device = _candidates(case), case.facts.device
    near = _near(device, parts) if device is not None and parts else None
    return {part.index: int((near.capacity_bytes or 0) * _TILE) for part in parts if part.share >= _LEAST_SHARE} if near is not None else {}


def passed_over(case: Case) -> set[int]:
    """Rows that `poor-locality` explains."""
    found = blockable(case)
    return {part.index for part in found.parts} if found is not None else set()


def _candidates(case: Case) -> list[Judged]:
    """Operators that pass over the same far buffers several times, whatever binds them."""
    if not case.shares_hold:
        return []
    chained = {part.index for chain in chains(case.judged) for part in chain.members}
    parts = _together([part for part in case.judged if part.index not in chained and _walks(part)])
    return parts if _passes(parts) >= _LEAST_PASSES else []


def _passes(parts: Sequence[Judged]) -> float:
    once = _once_bytes(parts)
    return _moved_bytes(parts) / once if once else 0.0


def _avoidable(parts: Sequence[Judged]) -> float:
    """Part of the traffic that one pass would not need: 1 − once ÷ moved."""
    return 1.0 - 1.0 / max(1.0, _passes(parts))


def _kernels_s(parts: Sequence[Judged]) -> float:
    return sum(part.kernel_s.value for part in parts if part.kernel_s)


def _walks(part: Judged) -> bool:
    """Whether a part walks over data from afar with little else to do."""
    if part.row.group in _PASSED_OVER or part.kernel_s is None or part.f_b is None or part.bound == "compute":
        return False
    # A product that reads a matrix for one vector has its own cause, and its own fix: serve several vectors in one pass. One that leaves a number is
    # a reduction.
    product = part.row.group in ("matmul", "attention", "convolution") and bool(part.row.writes)
    return not product and bool(_large(part))


def _large(part: Judged) -> list[BufferUse]:
    largest = max((use.size_bytes for use in _uses(part)), default=0)
    return [use for use in _uses(part) if use.size_bytes >= largest / 4 > 0]


def _uses(part: Judged) -> Sequence[BufferUse]:
    return (*(part.row.reads or ()), *(part.row.writes or ()))


def _together(parts: Sequence[Judged]) -> list[Judged]:
    """Parts that pass over a buffer which is brought from afar more than once, by them or by others of them.

    What finds its tile where an operator before left it comes from near, however large the whole is.
    """
    farthest = max((part.working_set_bytes for part in parts), default=0.0)
    parts = [part for part in parts if part.working_set_bytes >= farthest / _SMALLER]
    passes: dict[int, float] = defaultdict(float)
    for part in parts:
        for use in _large(part):
            passes[use.buffer] += part.row.calls * use.size_bytes / (use.span_bytes or use.size_bytes)
    shared = {buffer for buffer, count in passes.items() if count >= _LEAST_PASSES}
    return [part for part in parts if any(use.buffer in shared for use in _large(part))]


def _moved_bytes(parts: Sequence[Judged]) -> float:
    return float(sum(part.bytes or 0 for part in parts))


def _once_bytes(parts: Sequence[Judged]) -> float:
    """Bytes of all buffers, read once and written once."""
    once: dict[tuple[int, bool], int] = {}
    for part in parts:
        for written, uses in ((False, part.row.reads or ()), (True, part.row.writes or ())):
            for use in uses:
                key = (use.buffer, written)
                once[key] = max(once.get(key, 0), use.span_bytes or use.size_bytes)
    return float(sum(once.values()))


def _near(device: Device, parts: Sequence[Judged]) -> MemoryLevel | None:
    """The largest cache that is well below what is walked over."""
    distance = min(part.working_set_bytes for part in parts)
    fitting = [level for level in device.levels if level.capacity_bytes and level.capacity_bytes * _SMALLER <= distance]
    return max(fitting, key=lambda level: level.capacity_bytes or 0, default=None)


def _measured_s(case: Case, parts: Sequence[Judged], avoidable: float) -> tuple[float, float] | None:
    """Seconds that blocking saves by the operators' own times in tiles, (careful, best); `None` unless every larger part was repeated.

    The avoidable part of an operator's time t then takes t ÷ ratio. Careful: the lower end of the ratio, and nine tenths of the avoidable part.
    """
    ratios = {tried.operator: ratio for tried, ratio in standing(case) if tried.layout == IN_TILES}
    known = [part for part in parts if part.index in ratios and part.kernel_s is not None]
    if case.sum_of(known) < 0.7 * case.sum_of(parts):
        return None
    careful = sum(0.9 * avoidable * part.kernel_s.value * (1 - 1 / max(1.0, ratios[part.index].low)) for part in known if part.kernel_s)
    best = sum(avoidable * part.kernel_s.value * (1 - 1 / max(1.0, ratios[part.index].high)) for part in known if part.kernel_s)
    return 0.9 * careful, min(1.15 * best, avoidable * _kernels_s(known))


def _saved_s(device: Device, parts: Sequence[Judged], near: MemoryLevel, avoidable: float) -> tuple[float, float] | None:
    """Seconds of all parts that blocking saves, (careful, best).

    The avoidable part of the traffic then moves at the near level's bandwidth. Careful: only the part of the time that traffic explains at the
    ceiling (f_b) shrinks, by the ratio of the two ceilings at their unfavourable ends. Best: all of the time of those bytes does.
    """
    careful = best = 0.0
    for part in parts:
        mix = mix_of(part.read_bytes, part.write_bytes)
        tile = bandwidth_ceiling(device, mix, part.threads, (near.capacity_bytes or 1) * _TILE)
        now = bandwidth_ceiling(device, mix, part.threads, part.working_set_bytes)
        if tile is None or now is None or part.kernel_s is None or part.f_b is None:
            return None
        time = part.kernel_s.value
        bound = min(1.0, part.f_b.value)
        ratio = max(1.0, tile.low / now.high), max(1.0, tile.high / now.low)
        # Arithmetic that streams hid remains: a kernel cannot get faster than its own ceiling of operations.
        floor = time * min(1.0, part.f_c.value) if part.f_c is not None else 0.0
        careful += min(time - floor, 0.7 * time * bound * avoidable * (1.0 - 1.0 / ratio[0]))
        best += min(time - floor, time * avoidable * (1.0 - 1.0 / ratio[1]))
    return (max(0.0, careful), max(0.0, careful, best))


def _near_edge(part: Judged, device: Device | None) -> bool:
    """Whether the reuse distance is within a factor of two of a cache's capacity."""
    capacities = [level.capacity_bytes for level in device.levels if level.capacity_bytes] if device else []
    return any(0.5 <= part.working_set_bytes / capacity <= 2.0 for capacity in capacities[:-1])
