"""Two profiles by function: what was changed on purpose is found, chance is not taken for a change, and what samples cannot tell is not told."""

from __future__ import annotations

import numpy as np
import pytest

from ridgeline.core import Profile, ProfileRow, ProfileTable, Stacks, UsageError
from ridgeline.timeline.difference import difference
from ridgeline.timeline.frame_changes import stacks_difference

from .building import stacks_of


def profile(name: str, *stacks: Stacks, tables: tuple[ProfileTable, ...] = ()) -> Profile:
    return Profile(format="made", files=(name,), stacks=stacks, tables=tables)


def drawn(seed: int, shares: dict[str, float], samples: int = 8000, together: int = 1) -> Profile:
    """Samples of functions below `main`, of which each `together` fall into one call."""
    draw = np.random.default_rng(seed)
    names, weights = list(shares), np.array(list(shares.values()))
    counts = np.bincount(draw.choice(len(names), samples // together, p=weights / weights.sum()), minlength=len(names)) * together
    rows = {f"main;{name}": float(count) for name, count in zip(names, counts, strict=True) if count}
    return profile(f"{seed}.txt", stacks_of(rows, samples=samples))


def test_a_difference_says_what_samples_can_tell() -> None:
    before = stacks_of({"m;steady": 5000, "m;gone": 3000, "m;small": 2000}, samples=10000)
    after = stacks_of({"m;steady": 5000, "m;new": 3000, "m;small": 2000}, samples=10000)
    changes = {change.function: change for change in stacks_difference(before, after)}
    assert (changes["gone"].change, changes["new"].change, changes["steady"].change) == ("vanished", "appeared", "neutral")
    low, high = changes["new"].difference_ci or (0, 0)
    # As of 2500 samples: 2.8 standard errors of 0.9 points each.
    assert 0.26 < low < 0.28 < 0.3 < high < 0.34
    few = stacks_difference(stacks_of({"a": 3, "b": 2}, samples=5), stacks_of({"a": 2, "b": 3}, samples=5))
    assert {change.change for change in few} == {"inconclusive"}


def test_a_difference_of_a_profile_with_itself_is_neutral() -> None:
    for samples in (None, 10**7):
        same = stacks_of({"a;b": 3e6, "a;c": 7e6}, samples=samples)
        assert {change.change for change in stacks_difference(same, same)} == {"neutral"}
    other = stacks_of({"a": 1})
    unlike = Stacks(measure="x", unit="count", frames=other.frames, parent=other.parent, frame=other.frame, own=other.own)
    with pytest.raises(UsageError):
        stacks_difference(other, unlike)


SHARES = {f"f{number}": 1.0 for number in range(20)}


@pytest.mark.parametrize("together", [1, 4])
def test_chance_is_no_change_not_even_of_samples_that_fall_into_one_call(together: int) -> None:
    words = set()
    for seed in range(0, 40, 2):
        found = difference(drawn(seed, SHARES, together=together), drawn(seed + 1, SHARES, together=together))
        words |= {word for each in found.functions for word in (each.change, each.total_change)}
        assert found.verdict in ("same", "inconclusive")
    assert words <= {"neutral", "inconclusive"}


def test_what_was_changed_is_found_in_itself_and_what_calls_it_in_total() -> None:
    before = profile("a", stacks_of({"main;f;g": 2000, "main;h": 8000, "main;f": 300}, samples=10300))
    after = profile("b", stacks_of({"main;f;g": 5000, "main;h": 8000, "main;f": 300}, samples=13300))
    found = difference(before, after)
    changes = {each.function: (each.change, each.total_change) for each in found.functions}
    assert changes == {"g": ("grew", "grew"), "f": ("inconclusive", "grew"), "h": ("shrank", "shrank")}
    assert found.functions[0].function == "g"
    assert (found.verdict, found.per, found.neutral, found.window_s, found.samples) == ("inconclusive", "profile", 1, (None, None), (10300, 13300))
    own, interval = found.functions[0].own_share, found.functions[0].difference_ci
    assert own == (pytest.approx(2 / 10.3), pytest.approx(5 / 13.3))
    assert interval is not None
    assert interval[0] < own[1] - own[0] < interval[1]
    assert {caution.code for caution in found.warnings} == {"one-run-each"}


def test_many_samples_alike_are_the_same() -> None:
    one = profile("a", stacks_of({"main;f": 5e6, "main;g": 5e6}, samples=10**7))
    other = profile("b", stacks_of({"main;f": 5.001e6, "main;g": 4.999e6}, samples=10**7))
    found = difference(one, other)
    assert (found.verdict, found.functions, found.neutral) == ("same", (), 3)


def test_a_difference_that_is_sure_and_too_small_to_matter_is_neutral() -> None:
    one, other = (profile("x", stacks_of({"main;f": f, "main;g": 1e8 - f}, samples=10**8)) for f in (5e7, 5.05e7))
    assert difference(one, other).verdict == "same"


def test_weights_that_are_called_samples_are_counted_and_others_are_not() -> None:
    counted = difference(profile("a", stacks_of({"f": 4000, "g": 4000})), profile("b", stacks_of({"f": 6000, "g": 2000})))
    assert counted.samples == (8000, 8000)
    assert {each.change for each in counted.functions} == {"grew", "shrank"}
    weighed = difference(*(profile(name, stacks_of({"f": f, "g": 4000}, measure="Instructions")) for name, f in (("a", 4000), ("b", 9000))))
    assert weighed.samples == (None, None)
    # Nobody knows by how much such weights differ from run to run.
    assert {each.change for each in weighed.functions} == {"inconclusive"}
    assert {each.difference_ci for each in weighed.functions} == {None}
    assert [caution.code for caution in weighed.warnings] == ["no-samples"]
    # Where a file has the number of samples beside other weights it counts.
    both = difference(*(profile(name, stacks_of({"f": 1}, measure="cpu"), stacks_of({"f": 7})) for name in "ab"))
    assert (both.measure, both.samples) == ("cpu", (7, 7))


def test_profiles_of_unlike_weights_or_programs_are_not_compared() -> None:
    unlike = difference(profile("a", stacks_of({"f": 1}, measure="cycles")), profile("b", stacks_of({"f": 1}, measure="cpu")))
    assert (unlike.verdict, unlike.window_s) == ("incomparable", (None, None))
    assert "their stacks weigh cycles and cpu" in unlike.warnings[0].message
    other = difference(profile("a", stacks_of({"f;g": 100})), profile("b", stacks_of({"h;i": 100})))
    assert (other.verdict, other.functions) == ("incomparable", ())
    nothing = difference(profile("a", stacks_of({"f;g": 100})), profile("b", stacks_of({"f": 0})))
    assert nothing.verdict == "incomparable"


def test_what_was_counted_goes_before_stacks_without_samples() -> None:
    table = ProfileTable(
        of="functions", nested=True,
        rows=(ProfileRow(name="main", total_s=3.0, own_s=1.0, calls=1.0), ProfileRow(name="f", total_s=2.0, own_s=2.0, calls=1.0)),
    )  # fmt: skip
    found = difference(*(profile(name, stacks_of({"main;f": 2, "main": 1}, measure="wall"), tables=(table,)) for name in "ab"))
    # Rows contain one another: together they took what each took itself.
    assert (found.per, found.verdict, found.window_s) == ("trace", "same", (3.0, 3.0))
