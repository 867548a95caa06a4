"""Promises that were refuted by hand: narrow types without arithmetic, system time that comes back as misses, and a sibling's trial."""

from __future__ import annotations

import msgspec
import pytest

from ridgeline.core import Action, Diagnosis, Facts, Tried
from ridgeline.diagnosis import next as next_step
from ridgeline.diagnosis.siblings import beside_sibling
from support.facts_by_hand import MB, READ, buffer, facts, row, samples, split

from .test_lower_precision import dense, with_bf16


def diagnose(given: Facts) -> Diagnosis:
    step = next_step(given)
    assert isinstance(step, Diagnosis), step
    return step


def stream(kind: str, precision: str = "fp32") -> Facts:
    """A reduction at 0.97 of what memory gives, in one pass."""
    return facts([row("sum", 0.0095, kind=kind, group="reduction", engine="reduce", precision=precision, reads=(buffer(1, 120 * MB),), writes=())])


def names(given: Facts) -> set[str]:
    return {part for action in diagnose(given).actions for part in action.action.split(" + ")}


@pytest.mark.parametrize("made", [stream("numpy.sum"), dense(0.95, kind="numpy.matmul", group="matmul")], ids=["stream", "product"])
def test_numpy_is_promised_nothing_narrower_than_fp32(made: Facts) -> None:
    fast = msgspec.structs.replace(made, device=with_bf16(1e12))
    assert "lower-precision" not in names(made) | names(fast)


@pytest.mark.parametrize(
    "made", [stream("numpy.sum", "fp64"), dense(0.95, kind="numpy.matmul", group="matmul", precision="fp64")], ids=["stream", "product"]
)
def test_numpy_in_double_may_fall_to_single(made: Facts) -> None:
    assert "lower-precision" in names(made)


def test_half_width_on_a_cpu_is_promised_where_its_ceiling_is_known_to_be_higher() -> None:
    made = stream("aten::sum")
    assert "lower-precision" not in names(made)
    assert "lower-precision" not in names(msgspec.structs.replace(made, device=with_bf16(0.5 * 128e9)))
    assert "lower-precision" in names(msgspec.structs.replace(made, device=with_bf16(2 * 128e9)))


def allocating(size: int, system: float = 0.28) -> Facts:
    """Four operators that write fresh results of `size` bytes in 10 ms, of which the kernel takes `system`."""
    rows = [row(f"op{i}", 0.0024, group="elementwise", engine="add", reads=(), writes=(buffer(i, size, fresh=True),)) for i in range(4)]
    return facts(rows, wall_split=split(system=system), samples=samples(0.01, minor_faults=4 * size / 4096))


def promised(given: Facts, name: str) -> Action:
    return next(action for action in diagnose(given).actions if action.action == name)


@pytest.mark.parametrize("size", [1 * MB, 4 * MB, 20 * MB])
def test_kept_buffers_are_not_promised_what_their_lines_then_cost(size: int) -> None:
    fetched = min(1.0, 4 * size / READ[100 * MB][1] / 0.01 / 0.28)
    saved = 0.28 * 0.75 * (1 - fetched)
    low, high = promised(allocating(size), "reuse-buffers").speedup
    assert low <= 1.01 / (1 - saved)
    assert low >= 1.0
    assert low < 1.27 if size >= 4 * MB else low > 1.0
    assert high > 1.3


def test_the_cause_keeps_its_place_where_little_of_it_is_sure() -> None:
    found = diagnose(allocating(20 * MB, system=0.6)).bottleneck
    assert found is not None
    assert found.cause == "allocation"


def act(name: str, speedup: tuple[float, float], identity: str, combines: tuple[str, ...] = ()) -> Action:
    low, high = speedup
    return Action(
        id=identity, action=name, on="", because="why", metric="latency", speedup=speedup, median_after_s=(1 / high, 1 / low), combines=combines
    )


def tried(verdict: str, speedup: tuple[float, float], name: str = "change-allocator") -> Tried:
    return Tried(
        action=name, id="a2", promised=(1.2, 1.5), found=sum(speedup) / 2, speedup=speedup, verdict=verdict, output_ok=True, kept=True, change="c"
    )


REUSE, ALLOCATOR, FUSE = act("reuse-buffers", (1.27, 1.44), "a1"), act("change-allocator", (1.2, 1.44), "a2"), act("fuse", (1.25, 2.0), "a3")
BOTH = act("reuse-buffers + fuse", (1 / (1 / 1.27 + 1 / 1.25 - 1), 1 / (1 / 1.44 + 1 / 2.0 - 1)), "a4", ("a1", "a3"))


def test_what_the_allocator_found_bounds_kept_buffers_and_what_combines_them() -> None:
    reuse, allocator, fuse, both = beside_sibling((REUSE, ALLOCATOR, FUSE, BOTH), (tried("faster", (1.08, 1.1)),), 1.0)
    assert reuse.speedup == pytest.approx((1.08, 1.125))
    assert reuse.median_after_s == pytest.approx((1 / 1.125, 1 / 1.08))
    assert "change-allocator" in reuse.because
    assert (allocator, fuse) == (ALLOCATOR, FUSE)
    assert both.speedup == pytest.approx((1 / (1 / 1.08 + 1 / 1.25 - 1), 1 / (1 / 1.125 + 1 / 2.0 - 1)))


def test_an_allocator_that_was_no_faster_takes_the_lower_end_alone() -> None:
    (reuse,) = beside_sibling((REUSE,), (tried("same", (0.98, 1.02)),), 1.0)
    assert reuse.speedup == (1.0, 1.44)


def test_a_trial_of_its_own_or_none_leaves_the_promise() -> None:
    own = (tried("faster", (1.08, 1.1)), tried("faster", (1.3, 1.4), "reuse-buffers"))
    assert beside_sibling((REUSE,), own, 1.0) == beside_sibling((REUSE,), (), 1.0) == (REUSE,)


@pytest.mark.parametrize(("reached", "near"), [(0.47, False), (0.8, True)])
def test_only_what_is_at_its_ceiling_is_said_to_be_near_it(reached: float, near: bool) -> None:
    flop = reached * 128e9 * 0.0095
    rows = [row("gemm", 0.0095, group="matmul", engine="fma", flop=flop, reads=(buffer(1, MB), buffer(2, MB)), writes=(buffer(3, MB),))]
    headline = diagnose(facts(rows)).headline
    assert ("runs near its ceiling" in headline) is near
    assert ("room under the ceiling" in headline) is not near
    assert ("near-peak" in headline) is near


@pytest.mark.parametrize(
    ("made", "cause"),
    [(stream("numpy.sum"), "streaming"), (dense(0.95, kind="numpy.matmul", group="matmul"), "near-peak")],
    ids=["stream", "product"],
)
def test_what_could_be_narrower_elsewhere_keeps_its_verdict_and_promises_nothing(made: Facts, cause: str) -> None:
    found = diagnose(made).bottleneck
    assert found is not None
    assert found.cause == cause


def test_a_share_of_several_operators_says_so_of_passes_as_well() -> None:
    """Two passes over the same bytes: the place is one operator, the share is of both."""
    rows = [row(f"sum{i}", 0.0045, group="reduction", engine="reduce", reads=(buffer(1, 25 * MB),), writes=(buffer(2 + i, 8),)) for i in range(2)]
    cannot = dict.fromkeys(("hot-spots", "dispatch", "waits", "relayouts"), "not here")
    found = diagnose(facts(rows, cannot=cannot))
    shown = {one.cause: one.operators for one in (found.bottleneck, *found.runners_up) if one is not None}
    assert shown["poor-locality"] == 2
