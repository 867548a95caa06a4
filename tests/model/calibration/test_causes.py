"""Causes are proposed from what differs between the pairs before and after, in closed cases, and `unknown` where nothing does."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from ridgeline.model.calibration import Calibration, Context, Pair, start, updated

BEFORE = Context(driver="550.54", runtime="12.4", core_clock_hz=1.41e9)


def moved(after: Context | None = None, *, factor: float = 1.3, before: Context = BEFORE, size: float = 1e9, **further: Any) -> Calibration:
    """600 pairs around one, then 100 around `factor` in another context."""
    draw = np.random.default_rng(1)
    first = [
        Pair(predicted_s=1.0, actual_s=math.exp(0.04 * draw.normal()), group="g", context=before, size=float(draw.uniform(1e8, 1e10)))
        for _ in range(600)
    ]  # fmt: skip
    then = [
        Pair(predicted_s=1.0, actual_s=factor * math.exp(0.04 * draw.normal()), group="g", context=after or before, size=size, **further)
        for _ in range(100)
    ]
    return updated(start("m"), [*first, *then])


@pytest.mark.parametrize(
    ("after", "factor", "cause", "words"),
    [
        (Context(driver="560.28", runtime="12.4", core_clock_hz=1.41e9), 1.3, "driver", "550.54 before, 560.28"),
        (Context(driver="550.54", runtime="12.6", core_clock_hz=1.41e9), 1.3, "runtime", "12.4 before, 12.6"),
        (Context(driver="560.28", runtime="12.6", core_clock_hz=1.0e9), 1.3, "driver", "driver"),
        (Context(driver="550.54", runtime="12.4", core_clock_hz=1.1e9), 1.3, "clock", "MHz after"),
        (Context(driver="550.54", runtime="12.4", core_clock_hz=1.41e9, throttled=True), 1.3, "clock", "throttled"),
        (Context(driver="550.54", runtime="12.4", core_clock_hz=1.7e9), 0.8, "clock", "MHz"),
        # A higher clock does not make it slower, and a clock that is hardly another does nothing.
        (Context(driver="550.54", runtime="12.4", core_clock_hz=1.7e9), 1.3, "unknown", "alike"),
        (Context(driver="550.54", runtime="12.4", core_clock_hz=1.40e9), 1.3, "unknown", "alike"),
        (BEFORE, 1.3, "unknown", "alike"),
        # What is not known is no difference.
        (Context(), 1.3, "unknown", "not known"),
    ],
)
def test_what_differs_is_proposed(after: Context, factor: float, cause: str, words: str) -> None:
    (found,) = moved(after, factor=factor).changes
    assert found.cause == cause
    assert words in found.because


def test_work_outside_of_what_was_seen() -> None:
    (by_size,) = moved(size=1e12).changes
    (by_model,) = moved(out_of_range=True).changes
    assert by_size.cause == by_model.cause == "new workload"
    assert "outside of the range" in by_size.because
    (inside,) = moved(size=5e9).changes
    assert inside.cause == "unknown"


def test_the_second_move_the_same_way_for_no_known_reason_is_ageing() -> None:
    state = moved(factor=1.2)
    draw = np.random.default_rng(3)
    again = [Pair(predicted_s=1.0, actual_s=1.44 * math.exp(0.04 * draw.normal()), group="g", context=BEFORE, size=1e9) for _ in range(100)]
    assert [found.cause for found in updated(state, again).changes] == ["unknown", "ageing"]
    back = [Pair(predicted_s=1.0, actual_s=math.exp(0.04 * draw.normal()), group="g", context=BEFORE, size=1e9) for _ in range(100)]
    assert [found.cause for found in updated(state, back).changes] == ["unknown", "unknown"]


def test_after_a_change_the_new_context_is_the_usual_one() -> None:
    new = Context(driver="560.28", runtime="12.4", core_clock_hz=1.41e9)
    draw = np.random.default_rng(5)
    state = updated(moved(new), [Pair(predicted_s=1.0, actual_s=1.3 * math.exp(0.04 * draw.normal()), group="g", context=new) for _ in range(300)])
    state = updated(state, [Pair(predicted_s=1.0, actual_s=math.exp(0.04 * draw.normal()), group="g", context=BEFORE) for _ in range(100)])
    assert [(found.cause, found.because[:22]) for found in state.changes] == [
        ("driver", "driver 550.54 before, "),
        ("driver", "driver 560.28 before, "),
    ]
