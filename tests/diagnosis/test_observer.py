"""Levels that changed the time: each has a warning, and a wall split that did has shares as wide as the change."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.core import Caution, Diagnosis, Facts, LevelRecord, Need, Site, Wait, WaitTable
from ridgeline.diagnosis import next as next_step
from ridgeline.diagnosis.case import Case
from support.facts_by_hand import around, exact, facts, lines, perturbed, row, split


def diagnose(made: Facts) -> Diagnosis:
    step = next_step(made)
    assert not isinstance(step, Need), step
    return step


def level(number: int, instrument: str, ratio: float, *, changed: bool = True) -> LevelRecord:
    return LevelRecord(level=number, instrument=instrument, ratio_to_ground_truth=around(ratio, "1", 0.0), perturbed=changed)


def split_by(how: str, **shares: float):
    return msgspec.structs.replace(split(**shares), how=how)


def cautions(found: Diagnosis) -> list[Caution]:
    return [caution for caution in found.warnings if caution.code == "perturbed"]


def test_every_level_that_changed_the_time_has_a_warning_of_its_own_with_its_effect():
    made = facts([row("a", 0.009)], wall_split=split_by("samplers"), waits=WaitTable(waits=(), wall_s=exact(0.01, "s"), instrument="stopwatches"))
    levels = (level(2, "samplers", 0.83), level(5, "stopwatches", 1.4), *perturbed(), level(5, "frames", 1.0, changed=False))
    found = cautions(diagnose(msgspec.structs.replace(made, levels=levels)))
    assert len(found) == 3
    by_level = {caution.message.split(",")[0]: caution for caution in found}
    assert set(by_level) == {"level 2", "level 3", "level 5"}
    assert "0.83× the ground truth" in by_level["level 2"].message
    assert all(caution.effect for caution in found)
    assert len({caution.effect for caution in found}) == 3


def test_a_clean_run_has_no_such_warning_and_an_unmarked_split():
    found = diagnose(facts([row("a", 0.009)], wall_split=split_by("samplers"), levels=(level(2, "samplers", 1.02, changed=False),)))
    assert not cautions(found)
    assert found.wall_split.perturbed is False


def test_a_split_that_changed_the_time_is_marked_and_its_share_is_no_exact_number():
    made = facts([], operators=None, hot_spots=lines(12), wall_split=split_by("samplers", interpreter=0.9), levels=(level(2, "samplers", 0.8),))
    made = msgspec.structs.replace(made, cannot=dict.fromkeys(("operators", "dispatch", "waits"), "not here"))
    found = diagnose(made)
    assert found.wall_split.perturbed is True
    assert found.wall_split.interpreter == pytest.approx(0.9)
    share = next(e.quantity for e in found.bottleneck.evidence if e.name.startswith("interpreter share"))
    # What is missing of the wall, a fifth, may have been the interpreter's or not: 0.882 × 0.8 … 0.918 × 0.8 + 0.2.
    assert (share.low, share.high) == pytest.approx((0.882 * 0.8, 0.918 * 0.8 + 0.2))
    clean = diagnose(msgspec.structs.replace(made, levels=(level(2, "samplers", 1.0, changed=False),)))
    assert found.actions[0].speedup[0] < clean.actions[0].speedup[0]


def test_a_level_of_stages_leaves_the_split_alone():
    made = facts([row("a", 0.009)], wall_split=split_by("samplers", system=0.3), levels=(level(2, "timers", 2.0),))
    assert Case.of(made).range_of("system") == pytest.approx((0.294, 0.306))


@given(share=st.floats(0.0, 1.0), part=st.floats(0.0, 1.0), added=st.floats(-0.6, 3.0))
def test_the_interval_holds_wherever_the_change_fell(share: float, part: float, added: float):
    """A part that took `share` of a clean wall of 1, and `part` of the seconds that the samplers added (or took away), lies inside."""
    wall = 1.0 + added
    own = share + part * added
    if not 0.0 <= own <= wall:
        return
    seen = own / wall
    made = facts([], wall_split=split_by("samplers", system=seen), levels=(level(2, "samplers", wall),))
    low, high = Case.of(made).range_of("system")
    assert low - 1e-9 <= share <= high + 1e-9


def test_waits_whose_timing_changed_the_calls_name_the_cause_and_promise_nothing():
    spin = Wait(
        kind="spin", calls=1.0, total_s=exact(0.0095, "s"), caller_s=exact(0.0095, "s"), on="not done", site=Site(file="a.py", line=3, function="f"),
        native=0.0, interpreted=1.0, asleep=0.0,
    )  # fmt: skip
    table = WaitTable(waits=(spin,), wall_s=exact(0.01, "s"), instrument="stopwatches")
    made = facts([], waits=table, operators=None, wall_split=split(interpreter=0.99))
    made = msgspec.structs.replace(made, cannot=dict.fromkeys(("operators", "dispatch", "hot-spots"), "not here"))
    clean, changed = diagnose(made), diagnose(msgspec.structs.replace(made, levels=(level(5, "stopwatches", 1.5),)))
    assert (clean.bottleneck.cause, changed.bottleneck.cause) == ("spin-wait", "spin-wait")
    assert "block-instead" in [action.action for action in clean.actions]
    assert "block-instead" not in [action.action for action in changed.actions]
    assert "too much for a promise" in changed.headline
