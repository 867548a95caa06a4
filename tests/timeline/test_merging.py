"""Files of one run on one clock: offsets that are known, what is kept apart, and what is refused."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.core import Column, CounterTrack, Excluded, Marks, NotComparable, Profile, Timeline, UsageError
from ridgeline.timeline.clocks import offset_of
from ridgeline.timeline.merging import merged
from ridgeline.timeline.use import device_uses

from .building import HOST, stream, timeline_of

STREAM = stream(7)


def rank_profile(rank: int | None, shift: int, *, ends: tuple[int, ...] = (100, 250, 470, 900), base: int | None = None, file: str = "") -> Profile:
    """A rank whose collectives end at given moments of the world's time, on a clock that is behind by `shift` ticks."""
    late = 7 * (rank or 0)
    events = [(HOST, "runtime", "launch", 0 - shift, 5 - shift)]
    events += [(STREAM, "communication", "all-reduce", end - 30 - late - shift, end - shift) for end in ends]
    links = [(0, at + 1, "launch") for at in range(len(ends))]
    facts = {} if base is None else {"baseTimeNanoseconds": str(base)}
    return Profile(format="chrome", files=(file or f"rank{rank}.json",), timeline=timeline_of(events, links), rank=rank, facts=facts)


def timeline(profile: Profile) -> Timeline:
    assert profile.timeline is not None
    return profile.timeline


@settings(max_examples=50, deadline=None)
@given(st.integers(-(10**15), 10**15), st.integers(2, 4))
def test_collectives_end_together_whatever_the_clocks_say(shift: int, ranks: int) -> None:
    found, skew = merged([rank_profile(rank, rank * shift) for rank in range(ranks)])
    t = timeline(found)
    ends = (t.start_tick.values + t.duration_tick.values).reshape(ranks, 5)
    assert (ends == ends[0]).all()
    assert skew == {f"rank{rank}.json": pytest.approx(-rank * shift * 1e-9) for rank in range(ranks)}


def test_ranks_are_kept_apart_and_links_stay_within_them() -> None:
    found, _ = merged([rank_profile(0, 0), rank_profile(3, 50)])
    t = timeline(found)
    assert [track.rank for track in t.tracks] == [0, 0, 3, 3]
    assert len({track.name for track in t.tracks}) == 4
    assert {track.device for track in t.tracks} == {"", "rank 0 GPU 0", "rank 3 GPU 0"}
    assert t.links is not None
    source, target = t.links.source.values, t.links.target.values
    tracks = np.array([track.rank for track in t.tracks])[t.track.values]
    assert (tracks[source] == tracks[target]).all()
    assert (source // 5 == target // 5).all()


def test_base_times_are_checked_by_collectives() -> None:
    # The second file's times count from 1000 later, and its clock is 20 ahead.
    found, skew = merged([rank_profile(0, 0, base=10**18), rank_profile(1, 1000 - 20, base=10**18 + 1000)])
    assert skew["rank1.json"] == pytest.approx(20e-9)
    assert "4 collectives" in found.warnings[0].message


def test_base_times_stand_where_nothing_is_common() -> None:
    second = msgspec.structs.replace(rank_profile(1, 1000, ends=(50,), base=10**18 + 1000))
    found, skew = merged([rank_profile(0, 0, base=10**18), second])
    assert timeline(found).start_tick.values[5] == 0
    assert skew["rank1.json"] == 0
    assert "no common collectives" in found.warnings[0].message


def test_collectives_that_do_not_agree_are_not_the_same() -> None:
    one, other = rank_profile(0, 0, ends=(10**6, 5 * 10**6, 7 * 10**6)), rank_profile(1, 0, ends=(10**6, 9 * 10**6, 30 * 10**6))
    with pytest.raises(NotComparable, match="one clock"):
        merged([one, other])


def test_files_without_a_common_clock_are_refused() -> None:
    with pytest.raises(NotComparable, match="one clock"):
        merged([rank_profile(0, 0, ends=()), rank_profile(1, 0, ends=())])


def test_times_since_1970_are_a_common_clock() -> None:
    epoch = -1_700_000_000 * 10**9
    found = offset_of(rank_profile(0, epoch, ends=()), rank_profile(1, epoch - 3, ends=()))
    assert (found.nanoseconds, found.how) == (0, "base times")


def test_ticks_of_two_lengths_become_the_finer_ones() -> None:
    coarse = msgspec.structs.replace(rank_profile(1, 0), timeline=msgspec.structs.replace(timeline(rank_profile(1, 0)), tick_s=1e-6))
    fine = rank_profile(0, 0, ends=(100_000, 250_000, 470_000, 900_000))
    t = timeline(merged([fine, coarse])[0])
    assert t.tick_s == 1e-9
    assert t.start_tick.values[-4:].tolist() == [63_000, 213_000, 433_000, 863_000]
    assert t.duration_tick.values[-1] == 37_000


def test_everything_of_a_file_comes_along() -> None:
    first = rank_profile(0, 0)
    n = len(timeline(first))
    rich = msgspec.structs.replace(
        timeline(rank_profile(1, 40)),
        numbers={"bytes": Column(np.arange(n), "B")},
        texts={"shapes": Column([0, -1, 1, -1, -1], "count", "int32")},
        marks=Marks(tick=Column([60], "count"), name=Column([1], "count"), track=Column([1], "count")),
        counters=(CounterTrack(name="power", tick=Column([0, 10], "count"), value=Column([1.0, 2.0], "W"), device="GPU 0"),),
    )
    second = msgspec.structs.replace(rank_profile(1, 40), timeline=rich, excluded=(Excluded(reason="no time", events=2, first="byte 7"),))
    first = msgspec.structs.replace(first, excluded=(Excluded(reason="no time", events=1, total_s=0.5, first="byte 1"),))
    found, _ = merged([first, second])
    t = timeline(found)
    assert t.numbers["bytes"].values.tolist() == [-1] * n + list(range(n))
    assert [t.strings[at] if at >= 0 else "" for at in t.texts["shapes"].values[n:]] == ["launch", "", "all-reduce", "", ""]
    assert t.marks is not None
    assert (t.marks.tick.values.tolist(), t.marks.track.values.tolist()) == ([100], [3])
    assert (t.counters[0].tick.values.tolist(), t.counters[0].device) == ([40, 50], "rank 1 GPU 0")
    assert found.excluded == (Excluded(reason="no time", events=3, total_s=0.5, first="rank0.json, byte 1"),)


def test_host_and_device_files_of_one_process_keep_their_names() -> None:
    host = Profile(format="a", files=("host.json",), timeline=timeline_of([(HOST, "operator", "op", 0, 9)]), facts={"baseTimeNanoseconds": "5"})
    device = Profile(format="b", files=("device.json",), timeline=timeline_of([(STREAM, "compute", "k", 0, 9)]), facts={"baseTimeNanoseconds": "7"})
    found, _ = merged([host, device])
    assert [track.name for track in timeline(found).tracks] == [HOST.name, STREAM.name]
    assert timeline(found).start_tick.values.tolist() == [0, 2]
    assert found.format == "a+b"
    assert found.facts == {"baseTimeNanoseconds of host.json": "5", "baseTimeNanoseconds of device.json": "7"}


def test_one_file_is_itself_and_none_is_refused() -> None:
    one = rank_profile(0, 0)
    assert merged([one]) == (one, {})
    with pytest.raises(UsageError):
        merged([])


def drifting(rank: int, shift: int, ppm: float, *, base: int | None = None, noise: int = 0) -> Profile:
    """Collectives of a minute on a clock that is ahead by `shift` ticks at the start and runs faster."""
    one = rank_profile(rank, 0, ends=tuple(range(10**9, 61 * 10**9, 6 * 10**8)), base=base)
    t = timeline(one)
    start = t.start_tick.values
    jitter = np.random.default_rng(rank).integers(-noise, noise + 1, len(start))
    moved = start + np.rint(start * ppm * 1e-6).astype(np.int64) + shift + jitter
    return msgspec.structs.replace(one, timeline=msgspec.structs.replace(t, start_tick=Column(moved, "count")))


@pytest.mark.parametrize("ppm", [-100.0, -10.0, 5.0, 50.0])
def test_clocks_that_run_at_unlike_speed_meet_in_the_middle_and_it_is_said(ppm: float) -> None:
    first, second = drifting(0, 0, 0.0), drifting(1, 123_456, ppm, noise=2000)
    offset = offset_of(first, second)
    assert offset.drift == pytest.approx(ppm * 1e-6, rel=0.02)
    # In the middle, half a minute after the start, the clock is ahead by what it was and half of what it gains in a minute.
    assert offset.nanoseconds == pytest.approx(-123_456 - ppm * 1e-6 * 30.7e9, abs=3000)
    assert offset.drift_s == pytest.approx(abs(ppm) * 1e-6 * 29.7, rel=0.02)
    found, _ = merged([first, second])
    assert f"ppm {'faster' if ppm > 0 else 'slower'}" in found.warnings[0].message
    n = len(timeline(second))
    assert (timeline(found).duration_tick.values[-n:] == timeline(second).duration_tick.values).all()


def test_a_step_is_no_drift() -> None:
    with pytest.raises(NotComparable, match="100 common ones do not agree"):
        merged([drifting(0, 0, 0.0), drifting(1, 0, 1000.0)])


def test_base_times_that_collectives_contradict_are_not_said_to_be_unchecked() -> None:
    found, _ = merged([drifting(0, 0, 0.0, base=10**18), drifting(1, 0, 1000.0, base=10**18)])
    assert "100 collectives that they have in common do not agree" in found.warnings[0].message


@pytest.mark.parametrize("late", [-1, 1, 2])
@pytest.mark.parametrize("error", [-4000, 0, 4000])
def test_files_that_begin_with_another_step_are_not_moved_by_whole_steps(late: int, error: int) -> None:
    ends = tuple(range(10**8, 13 * 10**8, 10**8))
    second = rank_profile(1, -error, ends=tuple(end + late * 10**8 for end in ends), base=10**18)
    found, skew = merged([rank_profile(0, 0, ends=ends, base=10**18), second])
    assert skew["rank1.json"] == pytest.approx(error * 1e-9, abs=1e-12)
    assert "do not begin with the same one" in found.warnings[0].message
    assert f"by {len(ends) - abs(late)} collectives" in found.warnings[0].message


def test_a_clock_that_is_off_by_less_than_half_a_step_is_put_right() -> None:
    ends = tuple(range(10**8, 13 * 10**8, 10**8))
    _, skew = merged([rank_profile(0, 0, ends=ends, base=10**18), rank_profile(1, -40_000_000, ends=ends, base=10**18)])
    assert skew["rank1.json"] == pytest.approx(0.04)


def test_collectives_of_which_one_file_holds_more_are_paired_by_base_times() -> None:
    ends = tuple(range(10**8, 13 * 10**8, 10**8))
    found, skew = merged([rank_profile(0, 0, ends=ends, base=10**18), rank_profile(1, -5000, ends=ends[2:], base=10**18)])
    assert skew["rank1.json"] == pytest.approx(5e-6)
    assert "by 10 collectives" in found.warnings[0].message


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(10**5, 10**7), min_size=12, max_size=30), st.integers(0, 2**31))
def test_collectives_that_have_nothing_to_do_with_one_another_leave_base_times_alone(gaps: list[int], seed: int) -> None:
    ends = tuple(np.cumsum(gaps).tolist())
    other = tuple(np.sort(np.random.default_rng(seed).integers(0, ends[-1], len(ends) + 3)).tolist())
    found = offset_of(rank_profile(0, 0, ends=ends, base=10**18), rank_profile(1, 0, ends=other, base=10**18))
    assert abs(found.nanoseconds) <= max(gaps)


def test_two_files_of_one_rank_and_of_one_name_are_kept_apart() -> None:
    files = [rank_profile(0, 0, file="a/trace.json"), rank_profile(0, 5, file="b/trace.json"), rank_profile(1, 5, file="c/trace.json")]
    tracks = timeline(merged(files)[0]).tracks
    assert len({track.name for track in tracks}) == 6
    assert len({track.device for track in tracks if track.device}) == 3


def test_units_and_processes_of_counters_come_along() -> None:
    counter = CounterTrack(name="memory", tick=Column([0], "count"), value=Column([1.0], "B"), process="1")
    rich = msgspec.structs.replace(timeline(rank_profile(1, 0)), numbers={"bytes": Column([-1] + [8] * 4, "B")}, counters=(counter,))
    t = timeline(merged([rank_profile(0, 0), msgspec.structs.replace(rank_profile(1, 0), timeline=rich)])[0])
    assert t.numbers["bytes"].unit == "B"
    assert t.counters[0].process in {track.process for track in t.tracks}


def test_eight_ranks_have_each_the_figures_that_they_had_alone() -> None:
    ranks = [rank_profile(rank, 1000 * rank) for rank in range(8)]
    found = {use.name: use for use in device_uses(timeline(merged(ranks)[0]))}
    for rank, one in enumerate(ranks):
        (alone,) = device_uses(timeline(one))
        use = found[f"rank {rank} GPU 0"]
        assert (use.events, use.busy_s, use.communication_s, use.exposed_communication_s) == (
            alone.events, alone.busy_s, alone.communication_s, alone.exposed_communication_s
        )  # fmt: skip


def test_a_copy_of_a_file_is_refused() -> None:
    with pytest.raises(UsageError, match=r"the same events in a\.json and b\.json"):
        merged([rank_profile(0, 0, file="a.json"), rank_profile(1, 0), rank_profile(0, 0, file="b.json")])


def piece(number: int, start: int, length: int = 1000) -> Profile:
    t = timeline_of([(HOST, "operator", f"op {number}", start, start + length)])
    return Profile(format="chrome", files=(f"piece{number}.json",), timeline=t, facts={"baseTimeNanoseconds": str(10**18)})


def test_recordings_of_another_day_are_no_pieces_of_one_run() -> None:
    with pytest.raises(NotComparable, match=r"piece2\.json, which begins 3\.00 µs after piece0\.json ends"):
        merged([piece(2, 5002), piece(0, 1001), piece(1, 500, 100)])


def test_pieces_that_follow_one_another_are_one_run_however_many() -> None:
    found, _ = merged([piece(number, number * 1500) for number in range(12)])
    assert len(timeline(found)) == 12
