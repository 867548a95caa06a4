"""Importance: the shares of a formula whose variance can be worked out, and what is said where there is too little to go by."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from ridgeline.core import ImportanceTable, Parameter, Space
from ridgeline.tuning.importance import importance
from ridgeline.tuning.space import Configurations

SPACE = Configurations(
    Space(
        parameters=(
            Parameter(name="tile", values=(1, 2, 4, 8)), Parameter(name="order", values=("ij", "ji", "kj")),
            Parameter(name="pack", values=(False, True)), Parameter(name="idle", values=tuple(range(6))),
        )
    )
)  # fmt: skip


def found(of: Callable[[NDArray[np.int64]], NDArray[np.float64]], count: int = 140, noise: float = 0.0) -> ImportanceTable:
    generator = np.random.default_rng(5)
    rows = SPACE.drawn(count, generator)
    return importance(SPACE, rows, np.exp(of(rows) + noise * generator.standard_normal(count)))


def shares(table: ImportanceTable) -> dict[tuple[str, ...], float]:
    return {each.parameters: each.share for each in table.shares}


def test_shares_of_a_sum_are_the_variances_of_its_parts() -> None:
    # Variances: 1.25 ÷ 4 of half the place among four, 2 ÷ 3 × 0.09 among three, 0.25 × 0.16 among two.
    table = found(lambda rows: rows[:, 0] / 2 + 0.3 * rows[:, 1] + 0.4 * rows[:, 2])
    total = 0.3125 + 0.06 + 0.04
    by_name = shares(table)
    assert by_name["tile",] == pytest.approx(0.3125 / total, abs=0.08)
    assert by_name["order",] == pytest.approx(0.06 / total, abs=0.06)
    assert by_name["pack",] == pytest.approx(0.04 / total, abs=0.06)
    assert by_name.get(("idle",), 0.0) < 0.03
    assert table.explained is not None
    assert table.explained > 0.9
    assert table.note == ""


def test_what_only_two_together_do_is_theirs() -> None:
    table = found(lambda rows: np.where((rows[:, 0] >= 2) == (rows[:, 2] == 1), 0.0, 1.0))
    assert max(shares(table), key=lambda each: shares(table)[each]) == ("tile", "pack")
    assert shares(table)["tile", "pack"] > 0.6


def test_intervals_hold_their_shares() -> None:
    table = found(lambda rows: rows[:, 0] / 2 + 0.2 * rows[:, 1], noise=0.1)
    assert all(0.0 <= each.low <= each.share <= each.high <= 1.0 + 1e-9 for each in table.shares)
    assert [each.share for each in table.shares] == sorted((each.share for each in table.shares), reverse=True)


def test_the_same_for_the_same_seed() -> None:
    assert found(lambda rows: rows[:, 0] / 2, noise=0.1) == found(lambda rows: rows[:, 0] / 2, noise=0.1)


def test_too_few_are_said_to_be() -> None:
    table = found(lambda rows: rows[:, 0] / 2, count=12)
    assert (table.shares, table.explained) == ((), None)
    assert table.note == "too few: 12 configurations ran, 16 are needed"


def test_noise_alone_is_not_to_be_relied_on() -> None:
    table = found(lambda rows: np.zeros(len(rows)), noise=0.3)
    assert "not to be relied on" in table.note


def test_failures_do_not_count_and_what_was_not_varied_has_no_share() -> None:
    rows = SPACE.at(np.arange(SPACE.count))
    rows = rows[rows[:, 1] == 0]
    values = np.exp(rows[:, 0] / 2.0)
    values[::3] = np.nan
    table = importance(SPACE, rows, values)
    assert table.trials == np.isfinite(values).sum()
    assert all("order" not in each.parameters for each in table.shares)


@pytest.mark.parametrize("values", [np.ones(40), np.full(40, np.nan), np.zeros(0)])
def test_nothing_to_explain(values: NDArray[np.float64]) -> None:
    rows = SPACE.drawn(40, np.random.default_rng(0))[: len(values)]
    assert importance(SPACE, rows, values).shares == ()
    assert importance(SPACE, rows, values).note
