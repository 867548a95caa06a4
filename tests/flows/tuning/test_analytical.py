"""The roofline as a first guess: only where the work depends on the configuration, believed only where it says what is found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flows.tuning.test_left import DEVICE
from ridgeline.core import Device, TargetFailed, UsageError
from ridgeline.device import find
from ridgeline.device.testing import fake_device
from ridgeline.flows.tune import tune
from ridgeline.flows.tuning.analytical import Analytical, roofline_guess
from ridgeline.flows.tuning.resolve import configurations_of, work_of
from ridgeline.flows.tuning.spec import SpecArgument, SpecWork, TuningSpec, kernel, tuning_spec
from ridgeline.reporting import terminal, tuned_page
from ridgeline.tuning.search.guided import Guided
from ridgeline.tuning.space import Configurations, categorical, integer, power_of_two

Rows = Any
#: Traffic of a product of matrices in tiles, and nothing but that depends on the tiles.
BYTES = "4 * n * n * (n / rows + n / columns)"


def spec_of(flop: Any = "2 * n ** 3", moved: Any = BYTES) -> TuningSpec:
    return tuning_spec(
        "product",
        kernel=kernel(
            "simulated", constants={"n": 512}, arguments=[SpecArgument(name="y", shape=(8,), output=True)], work=SpecWork(flop=flop, bytes=moved)
        ),
        parameters=[
            power_of_two("rows", 1, 128), power_of_two("columns", 1, 128), integer("unroll", 1, 8), categorical("order", ("ij", "ji", "k")),
            categorical("pack", (False, True)),
        ],
        constraints=["rows * columns <= 2048"],
    )  # fmt: skip


SPEC = spec_of()
SPACE = configurations_of(SPEC)


def guess_of(spec: TuningSpec = SPEC, device: Device = DEVICE) -> Analytical:
    found = roofline_guess(spec, configurations_of(spec), lambda: device)
    assert found is not None
    return found


def roofline(rows: Rows) -> Rows:
    return np.exp(guess_of().guess(rows))


def seconds(space: Configurations, rows: Rows) -> Rows:
    """The roofline, and what a formula does not know: the best is at 32 × 64, unroll 5, order k."""
    found = roofline(rows) * (1.0 + 0.1 * np.abs(rows[:, 2] - 4)) * np.array([1.3, 1.6, 1.0])[rows[:, 3]]
    return found * (1.0 + 0.2 * (rows[:, 4] == 0))


def reached(search: Guided, trials: int, of: Any = seconds) -> list[float]:
    """The best after each trial ÷ the best of all."""
    best, found = of(SPACE, SPACE.at(np.arange(SPACE.count))).min(), []
    for _ in range(trials):
        rows = search.ask(1)
        search.tell(rows, of(SPACE, rows))
        found.append(float(search.values[search.best] / best))
    return found


def test_it_is_the_work_at_the_ceilings() -> None:
    """Of every configuration, as worked out one by one."""
    rows = SPACE.drawn(200, np.random.default_rng(1))
    for row, found in zip(rows, roofline(rows).tolist(), strict=True):
        work = work_of(SPEC, SPACE.config(row))
        assert work.flop is not None
        assert work.bytes is not None
        assert found == pytest.approx(max(work.flop / 1e11, work.bytes / (1e11 if work.bytes <= 1 << 15 else 2e10)))


def test_a_good_guess_is_after_ten_further_than_none_after_twenty() -> None:
    guess = guess_of().guess
    with_it = [reached(Guided(SPACE, seed, guess), 10)[-1] for seed in range(7)]
    without = [reached(Guided(SPACE, seed), 20)[-1] for seed in range(7)]
    assert np.median(with_it) < 0.9 * np.median(without)


def test_a_misleading_one_does_no_harm_by_fifty() -> None:
    """Large tiles spill here: what the roofline says is best is worst."""

    def spilt(space: Configurations, rows: Rows) -> Rows:
        return seconds(space, rows) / roofline(rows) ** 2

    searches = [Guided(SPACE, seed, guess_of().guess) for seed in range(7)]
    with_it = [reached(search, 50, spilt)[-1] for search in searches]
    without = [reached(Guided(SPACE, seed), 50, spilt)[-1] for seed in range(7)]
    assert np.median(with_it) <= 1.02 * np.median(without)
    assert np.median([search.trust for search in searches]) <= 0.25


@pytest.mark.parametrize(
    ("flop", "moved"), [("2 * n ** 3", None), (2e9, 1e6), ("2 * n ** 3 + 0 * rows", "n"), (None, None), ("0 * rows", "1 / (rows - rows)")]
)
def test_where_the_work_is_always_the_same_no_device_is_asked(flop: Any, moved: Any) -> None:
    def never() -> Device:
        raise AssertionError("it was asked")

    assert roofline_guess(spec_of(flop, moved), SPACE, never) is None


def test_where_the_time_is_always_the_same_it_says_nothing() -> None:
    """Traffic differs, and never decides."""
    assert roofline_guess(spec_of(2e12), SPACE, lambda: DEVICE) is None
    assert roofline_guess(SPEC, SPACE, lambda: Device(name="unknown", kind="cpu")) is None


def test_what_has_no_value_counts_as_the_worst() -> None:
    guess = guess_of(spec_of(moved="1e9 / (rows - 1)"), fake_device()).guess
    rows = SPACE.at(np.arange(SPACE.count))
    found = guess(rows)
    assert found[rows[:, 0] == 0] == pytest.approx(found.max())


def test_it_is_said_what_the_search_began_from() -> None:
    found = tune(SPEC, trials=12, device=fake_device())
    (used,) = found.priors
    assert (used.source, used.device, used.trials) == ("roofline", "Fake device", None)
    assert used.weight is not None
    said = terminal(tuned_page(found), 140, False)
    assert "roofline" in said
    assert "a formula" in said
    assert tune(SPEC, trials=4, device=fake_device(), strategy="random").priors == ()
    assert tune(spec_of(moved=None), trials=4, device=fake_device()).priors == ()


def test_recordings_go_before_it(tmp_path: Path) -> None:
    record = str(tmp_path / "r.jsonl")
    tune(SPEC, trials=4, record=record, strategy="random")
    assert [each.source for each in tune(SPEC, trials=4, priors=[record], device=fake_device()).priors] == [record]


def test_a_device_that_cannot_be_probed_costs_the_guess_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(**given: Any) -> Device:
        raise TargetFailed("a probe", found="a crash", remedy="none")

    monkeypatch.setattr("ridgeline.flows.tuning.wanted._ON_THIS_CPU", ("simulated",))
    monkeypatch.setattr("ridgeline.flows.probe.probe", fails)
    found = tune(SPEC, trials=4)
    assert (found.unique_evaluations, found.priors, found.roofline) == (4, (), None)


def test_a_device_of_the_catalogue_by_its_name() -> None:
    assert tune(SPEC, trials=2, device="H200").priors[0].device == find("H200").name
    with pytest.raises(UsageError, match="H2000"):
        tune(SPEC, trials=2, device="H2000")
    with pytest.raises(UsageError, match="a device beside a SPEC"):
        tune("python.py:function", device="H200")
