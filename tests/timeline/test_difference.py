"""Two recordings: what was changed on purpose is found, what was not is not, and what cannot be told is not told."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from ridgeline.core import Column, Growth, Profile, ProfileRow, ProfileTable, TimelineDifference
from ridgeline.timeline.difference import difference

from .building import HOST, stream, timeline_of

STREAM = stream(7)


def recording(
    seed: int,
    *,
    steps: int = 10,
    noise: float = 0.02,
    slower: dict[str, float] | None = None,
    without: tuple[str, ...] = (),
    more: tuple[str, ...] = (),
    marked: bool = True,
    names: str = "abcdefgh",
) -> Profile:
    """Steps of named kernels of 1000 ticks or so, each launched by an operator of its own name, and run after the step that launched it ends."""
    draw = np.random.default_rng(seed)
    events, links, now = [], [], 0
    for step in range(steps):
        begin, kernels = now, []
        for name in [*names, *more]:
            if name in without:
                continue
            took = [int(1000 * factor * np.exp(noise * draw.normal())) for factor in (1, (slower or {}).get(name, 1))]
            kernels.append((STREAM, "compute", f"kernel {name}", took[1], len(events)))
            events.append((HOST, "operator", f"op {name}", now, now + took[0]))
            now += took[0]
        if marked:
            events.append((HOST, "iteration", f"step {step}", begin, now))
        on_device = now
        for track, kind, name, took, call in kernels:
            links.append((call, len(events), "launch"))
            events.append((track, kind, name, on_device, on_device + took))
            on_device += took
        now = on_device
    return Profile(format="made", files=(f"{seed}.json",), timeline=timeline_of(events, links))


def changes(found: TimelineDifference) -> dict[str, str]:
    return {row.name: row.change for row in found.rows}


def row(found: TimelineDifference, name: str) -> Growth:
    return next(row for row in found.rows if row.name == name)


def test_a_slower_kernel_grew_and_nothing_else_did() -> None:
    found = difference(recording(1), recording(2, slower={"c": 1.5}))
    assert changes(found) == {"kernel c": "grew"}
    assert found.neutral == 15
    assert found.per == "iteration"
    grown = row(found, "kernel c")
    assert grown.calls == (1, 1)
    assert grown.ratio == pytest.approx(1.5, rel=0.05)
    assert grown.ratio_ci is not None
    assert grown.ratio_ci[0] < 1.5 < grown.ratio_ci[1]


def test_a_ratio_lies_in_its_interval_though_one_step_was_slow() -> None:
    before, after = recording(1, steps=20), recording(2, steps=20)
    timeline = after.timeline
    assert timeline is not None
    duration = timeline.duration_tick.values.copy()
    slow = np.flatnonzero(timeline.name.values == timeline.strings.index("kernel h"))[-1]
    duration[slow] *= 60
    stretched = msgspec.structs.replace(after, timeline=msgspec.structs.replace(timeline, duration_tick=Column(duration, "count")))
    found = difference(before, stretched)
    # The mean is 60 + 19 of 20 times what it was; a step is as long as before.
    assert found.neutral == 16
    told = difference(recording(1, steps=20, slower={"h": 0.5}), stretched)
    grown = row(told, "kernel h")
    assert grown.seconds[1] / grown.seconds[0] > 4
    assert grown.ratio == pytest.approx(2, rel=0.05)
    assert grown.ratio_ci is not None
    assert grown.ratio_ci[0] <= grown.ratio <= grown.ratio_ci[1]


def paused(seed: int, pause: int, name: str = "op") -> Profile:
    """Steps of one operator of 1000 ticks or so, with a pause of about `pause` in which nothing is recorded."""
    draw = np.random.default_rng(seed)
    events, now = [], 0
    for step in range(12):
        took, gap = int(1000 * np.exp(0.01 * draw.normal())), int(pause * np.exp(0.01 * draw.normal()))
        events += [(HOST, "iteration", f"step {step}", now, now + took + gap), (HOST, "operator", name, now, now + took)]
        now += took + gap
    return Profile(format="made", files=(f"{seed}.json",), timeline=timeline_of(events))


def test_time_in_which_nothing_was_recorded_has_a_row_of_its_own() -> None:
    found = difference(paused(1, 800), paused(2, 200))
    assert (found.verdict, changes(found)) == ("faster", {"time in which no event runs": "shrank"})
    assert row(found, "time in which no event runs").ratio == pytest.approx(0.25, rel=0.02)
    assert row(found, "time in which no event runs").seconds == pytest.approx((800e-9, 200e-9), rel=0.02)
    assert changes(difference(paused(1, 0), paused(2, 0))) == {}


def test_addresses_in_names_are_no_change() -> None:
    before, after = (paused(seed, 0, f"<built-in method run of object at 0x7f38{seed}34c7b90>") for seed in (1, 2))
    found = difference(before, after)
    assert (found.verdict, changes(found)) == ("same", {})


def test_the_other_way_round_it_shrank() -> None:
    assert changes(difference(recording(1, slower={"c": 1.5}), recording(2))) == {"kernel c": "shrank"}


@pytest.mark.parametrize("marked", [True, False])
def test_twenty_equal_pairs_are_called_different_in_next_to_nothing(marked: bool) -> None:
    called = [changes(difference(recording(2 * seed, marked=marked), recording(2 * seed + 1, marked=marked))) for seed in range(20)]
    assert sum(change in ("grew", "shrank") for one in called for change in one.values()) <= 1


def test_the_whole_is_slower_faster_or_the_same() -> None:
    slow = dict.fromkeys("abcdefgh", 1.4)
    # Marked is only what the host does: kernels come after it, before the next step.
    assert difference(recording(1), recording(2)).verdict == "same"
    assert difference(recording(1, names="abcd"), recording(2, names="abcdefgh")).verdict == "slower"
    assert difference(recording(1, names="abcdefgh"), recording(2, names="abcd")).verdict == "faster"
    kernels = difference(recording(1), recording(2, slower=slow))
    assert {row.change for row in kernels.rows} == {"grew"}
    assert kernels.verdict == "slower"
    assert kernels.window_s == pytest.approx((16e-6, 19.2e-6), rel=0.02)


def test_fused_operators_vanish_and_what_they_became_appears() -> None:
    found = difference(recording(1), recording(2, without=("a", "b"), more=("ab",)))
    expected = {f"{kind} {name}": change for kind in ("op", "kernel") for name, change in (("a", "vanished"), ("b", "vanished"), ("ab", "appeared"))}
    assert changes(found) == expected
    assert row(found, "op ab").seconds[0] == 0
    assert row(found, "op ab").ratio is None


def test_few_or_scattered_steps_are_inconclusive() -> None:
    few = difference(recording(1, steps=3), recording(2, steps=3, slower={"c": 1.5}))
    assert row(few, "kernel c").change == "inconclusive"
    assert few.verdict == "inconclusive"
    wild = difference(recording(1, noise=0.8), recording(2, noise=0.8))
    assert set(changes(wild).values()) == {"inconclusive"}


def test_a_recording_is_like_itself_however_short() -> None:
    one = recording(1, steps=2)
    found = difference(one, one)
    assert (found.verdict, found.rows, found.neutral) == ("same", (), 16)


def test_recordings_of_different_lengths_are_compared_by_call() -> None:
    found = difference(recording(1, marked=False, steps=8, names="a"), recording(2, marked=False, steps=24, names="a", slower={"a": 2}))
    assert found.per == "call"
    assert [caution.code for caution in found.warnings] == ["one-run-each", "unequal-lengths"]
    assert found.verdict == "inconclusive"
    assert row(found, "kernel a").seconds == pytest.approx((1e-6, 2e-6), rel=0.05)
    assert row(found, "kernel a").change == "grew"


def test_steps_of_two_lengths_of_recording_compare_all_the_same() -> None:
    found = difference(recording(1, steps=8), recording(2, steps=16, slower={"c": 1.5}))
    assert changes(found) == {"kernel c": "grew"}


def test_programs_with_nothing_in_common_do_not_compare() -> None:
    found = difference(recording(1, names="abc"), recording(2, names="xyz"))
    assert (found.verdict, found.rows) == ("incomparable", ())
    assert "in common" in found.warnings[0].message


def table(seconds: dict[str, float]) -> Profile:
    rows = tuple(ProfileRow(name=name, total_s=value, calls=10) for name, value in seconds.items())
    return Profile(format="made", files=("t",), tables=(ProfileTable(rows=rows),))


def test_tables_have_no_scatter() -> None:
    found = difference(table({"a": 1.0, "b": 2.0, "c": 3.0}), table({"a": 1.01, "b": 4.0, "d": 1.0}))
    assert changes(found) == {"b": "inconclusive", "c": "vanished", "d": "appeared"}
    assert found.verdict == "inconclusive"
    assert difference(table({"a": 1.0}), table({"a": 1.0})).verdict == "same"


def test_a_table_and_a_timeline_do_not_compare() -> None:
    assert difference(table({"a": 1.0}), recording(1)).verdict == "incomparable"


def test_empty_recordings() -> None:
    empty = Profile(format="made", files=(), timeline=timeline_of([]))
    assert difference(empty, empty).rows == ()
    assert difference(empty, recording(1)).verdict == "incomparable"
