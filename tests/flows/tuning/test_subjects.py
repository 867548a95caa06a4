"""Jobs as what is tuned: how long an attempt goes on."""

from __future__ import annotations

from ridgeline.backends import Job
from ridgeline.flows.tuning.subjects import Jobs
from ridgeline.tuning.space import Configurations
from support.tuned import space_of


def _jobs(runs: int | None = None) -> Jobs:
    space = Configurations(space_of(tile=[1, 2, 4]))
    return Jobs("k", space, lambda config: Job(runner="simulated", values=dict(config)), runs=runs)


def test_what_is_held_against_the_best_runs_longer_than_what_is_only_tried() -> None:
    tried, held = (_jobs().piece({"tile": 2}, best) for best in (1e-3, None))
    assert tried.arguments["runs"] == held.arguments["runs"] == 7  # type: ignore[union-attr]
    assert held.arguments["least_s"] > tried.arguments["least_s"] > 0  # type: ignore[union-attr]


def test_a_number_of_runs_that_was_given_is_kept() -> None:
    for best in (1e-3, None):
        arguments = _jobs(3).piece({"tile": 2}, best).arguments  # type: ignore[union-attr]
        assert arguments["runs"] == 3
        assert "least_s" not in arguments
