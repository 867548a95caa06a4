"""Files of one run on one clock: offsets that are known, what is kept apart, and what is refused."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.core import Column, CounterTrack, Excluded, Marks, NotComparable, Profile, Timeline, UsageError
from ridgeline.timeline.merging import merged, offset_of

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
