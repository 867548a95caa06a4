"""Load that came after clean samples: nothing above level 1 is a mechanism then, and a program that waits for itself is no such case."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from ridgeline.core import Column, Diagnosis, Facts, LevelRecord, Samples, Sentinels
from ridgeline.diagnosis import next as next_step
from support.facts_by_hand import MB, around, buffer, exact, facts, row, samples, split

WALL_S = 0.0227


def diagnose(given: Facts) -> Diagnosis:
    step = next_step(given)
    assert isinstance(step, Diagnosis), step
    return step


def queued(share: float) -> Samples:
    made = samples(WALL_S, 64)
    return msgspec.structs.replace(made, run_queue_s=Column(np.full(64, share * WALL_S), "s"))


def beside(*, later: float, before: float = 0.0, load: float = 0.05, flop: float = 0.2 * 128e9) -> Facts:
    """A call of 22.7 ms whose operators were profiled at 834 ms; it waited `before` of the samples and `later` of the split for a CPU."""
    rows = [row("gemm", 0.8, group="matmul", engine="fma", flop=flop * WALL_S, reads=(buffer(1, MB),), writes=(buffer(2, MB),))]
    levels = tuple(
        LevelRecord(level=level, instrument=name, total_s=exact(total, "s"), ratio_to_ground_truth=around(total / WALL_S, "1"), perturbed=True)
        for level, name, total in ((2, "stage timers", 0.454), (3, "operator profile", 0.834))
    )
    return facts(
        rows,
        wall_s=0.834,
        samples=queued(before),
        wall_split=split(waiting=later),
        levels=levels,
        sentinels=Sentinels(fma_ratio=around(1.0, "1"), run_queue_share=before, steal_share=0.0, other_load=load),
    )


def test_load_that_came_after_clean_samples_is_interference_and_no_mechanism() -> None:
    found = diagnose(beside(later=0.671))
    assert found.bottleneck is not None
    assert (found.bottleneck.bound, found.bottleneck.cause) == ("inconclusive", "interference")
    assert "measure again" in found.headline
    assert "practical ceiling" not in found.headline
    assert "operator profile took 36" in found.bottleneck.summary
    assert found.actions == ()
    assert any("measure again" in missing for missing in found.missing)
    assert {operator.bound for operator in found.operators} == {"inconclusive"}


@pytest.mark.parametrize(("before", "later"), [(0.0, 0.1), (0.45, 0.6)], ids=["hardly waits", "queues for its own threads"])
def test_waiting_that_was_there_before_or_is_small_is_no_later_load(before: float, later: float) -> None:
    found = diagnose(beside(before=before, later=later))
    assert found.bottleneck is None or found.bottleneck.cause != "interference"


def test_where_the_queue_beside_the_samples_is_not_known_nothing_is_compared() -> None:
    given = beside(later=0.671)
    blind = msgspec.structs.replace(given, samples=samples(WALL_S, 64), sentinels=Sentinels(fma_ratio=around(1.0, "1"), other_load=0.05))
    found = diagnose(blind)
    assert found.bottleneck is None or found.bottleneck.cause != "interference"


def test_beside_other_work_nothing_but_quiet_is_promised() -> None:
    busy = Sentinels(fma_ratio=around(0.5, "1"), run_queue_share=0.45, steal_share=0.0, other_load=2.0)
    rows = [row("gemm", 0.0095, group="matmul", engine="fma", flop=0.8 * 128e9 * 0.0095, reads=(buffer(1, MB),), writes=(buffer(2, MB),))]
    assert {action.action for action in diagnose(facts(rows, sentinels=busy)).actions} <= {"fix-environment"}
