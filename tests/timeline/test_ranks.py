"""Which rank is late: known lateness, what no order of files and no common shift changes, and what cannot be told."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.core import Column, Profile, RankUse, Timeline, Track
from ridgeline.timeline.clocks import offset_of
from ridgeline.timeline.events import events_of
from ridgeline.timeline.intervals import union_length
from ridgeline.timeline.meetings import device_pieces, host_pieces, meetings
from ridgeline.timeline.merging import merged
from ridgeline.timeline.ranks import rank_uses

from .building import HOST, stream, timeline_of

STREAM = stream(7)
WORKER = Track(name="thread 2", role="thread", process="1", thread="2")
MS = 10**6


def gloo(rank: int, starts: Sequence[int], ends: Sequence[int], *, name: str = "gloo:all_reduce", base: int | None = 10**18) -> Profile:
    """A rank whose collectives of the host run on a thread of Gloo, each put into its queue by a short operator."""
    events = [(HOST, "operator", "c10d::allreduce_", start - 2000, start - 1000) for start in starts]
    events += [(WORKER, "annotation", name, start, end) for start, end in zip(starts, ends, strict=True)]
    facts = {} if base is None else {"baseTimeNanoseconds": str(base)}
    return Profile(format="chrome", files=(f"rank{rank}.json",), timeline=timeline_of(events), rank=rank, facts=facts)


def nccl(rank: int, starts: Sequence[int], ends: Sequence[int]) -> Profile:
    events = [(STREAM, "communication", "all-reduce", start, end) for start, end in zip(starts, ends, strict=True)]
    facts = {"baseTimeNanoseconds": str(10**18)}
    return Profile(format="chrome", files=(f"rank{rank}.json",), timeline=timeline_of(events), rank=rank, facts=facts)


def told(profiles: Sequence[Profile]) -> tuple[RankUse, ...]:
    t = merged(profiles)[0].timeline
    assert t is not None
    return rank_uses(t)


#: Ten collectives 100 ms apart, each done 1 ms after the last one came: rank 0 comes at once, and rank 1 20 ms later in all but the third.
CAME = [100 * MS * at for at in range(1, 11)]
LATE = [came + (-5 * MS if at == 2 else 20 * MS) for at, came in enumerate(CAME)]
DONE = [max(pair) + MS for pair in zip(CAME, LATE, strict=True)]


@pytest.mark.parametrize("rank_of", [gloo, nccl])
def test_a_rank_that_comes_later_keeps_the_other_waiting(rank_of: Callable[..., Profile]) -> None:
    first, second = told([rank_of(0, CAME, DONE), rank_of(1, LATE, DONE)])
    assert (first.rank, first.collectives, first.last, first.unlike) == (0, 10, 1, 0)
    assert first.waited_s == pytest.approx(0.180)
    assert first.awaited_s == pytest.approx(0.005)
    assert first.late_s is None
    assert (second.rank, second.collectives, second.last) == (1, 10, 9)
    assert second.waited_s == pytest.approx(0.005)
    assert second.awaited_s == pytest.approx(0.180)
    assert second.late_s == pytest.approx(0.020)
    assert first.waited_share == pytest.approx(first.waited_s / first.window_s)


def test_of_three_ranks_it_is_kept_waiting_for_only_while_it_alone_is_missing() -> None:
    middle = [came + 15 * MS for came in CAME]
    done = [max(three) + MS for three in zip(CAME, LATE, middle, strict=True)]
    uses = told([gloo(0, CAME, done), gloo(1, LATE, done), gloo(2, middle, done)])
    assert [use.last for use in uses] == [0, 9, 1]
    # In the third one rank 2 comes 15 ms after rank 0, and rank 1 was there before.
    assert [use.awaited_s for use in uses] == pytest.approx([0, 9 * 0.005, 0.015])
    assert [use.waited_s for use in uses] == pytest.approx([9 * 0.020 + 0.015, 0.020, 9 * 0.005])


def test_two_that_come_last_together_are_neither_the_last() -> None:
    uses = told([gloo(0, CAME, DONE), gloo(1, LATE, DONE), gloo(2, LATE, DONE)])
    assert [use.last for use in uses] == [1, 0, 0]  # in the third rank 0 comes after both
    assert [use.waited_s for use in uses] == pytest.approx([0.180, 0.005, 0.005])


def test_waiting_in_two_collectives_at_once_is_waiting_once() -> None:
    beside = Track(name="thread 3", role="thread", process="1", thread="3")

    def rank(number: int, came: Sequence[int], more: Sequence[int]) -> Profile:
        events = [(WORKER, "annotation", "gloo:all_reduce", start, end) for start, end in zip(came, DONE, strict=True)]
        events += [(beside, "annotation", "gloo:barrier", start, end) for start, end in zip(more, DONE, strict=True)]
        return msgspec.structs.replace(gloo(number, came, DONE), timeline=timeline_of(events))

    # Rank 0 is in the barrier half a millisecond after it is in the all-reduce; rank 1 comes to both at once, in the third 5.5 ms before rank 0.
    first, second = told([rank(0, CAME, [came + MS // 2 for came in CAME]), rank(1, LATE, LATE)])
    assert (first.collectives, first.last, second.last) == (20, 2, 18)
    assert first.waited_s == pytest.approx(0.180)
    assert second.awaited_s == pytest.approx(0.180)
    assert second.waited_s == pytest.approx(0.0055)


def test_lateness_below_what_ends_are_apart_is_not_told() -> None:
    jitter = np.random.default_rng(0).integers(-200_000, 200_000, len(CAME))
    late = [came + 150_000 for came in CAME]
    ends = [came + 5 * MS for came in CAME]
    other = [end + int(more) for end, more in zip(ends, jitter, strict=True)]
    uses = told([gloo(0, CAME, ends), gloo(1, late, other)])
    assert [(use.collectives, use.last, use.waited_s, use.awaited_s, use.late_s) for use in uses] == [(10, 0, 0.0, 0.0, None)] * 2
    assert uses[0].told_s > 100e-6


def test_an_end_that_is_far_off_spoils_its_own_collective_alone() -> None:
    ends = list(DONE)
    ends[4] += 30 * MS
    first, second = told([gloo(0, CAME, DONE), gloo(1, LATE, ends)])
    assert (first.collectives, first.unlike, second.last) == (9, 1, 8)
    assert first.waited_s == pytest.approx(0.160)


@pytest.mark.parametrize("name", ["c10d::allreduce_", "nccl:all_reduce", "gloo:send", "mpi:recv", "my gloo:all_reduce"])
def test_ranges_that_only_put_a_collective_into_a_queue_say_nothing(name: str) -> None:
    assert told([gloo(0, CAME, DONE, name=name), gloo(1, LATE, DONE, name=name)]) == ()


@pytest.mark.parametrize(
    "name", ["gloo:barrier", "mpi:all_reduce", "ucc:allgather", "oneccl_bindings_for_pytorch::cpu_work::allreduce", "torch_ccl::cpu_work::barrier"]
)
def test_names_of_all_backends_of_the_host(name: str) -> None:
    assert [use.last for use in told([gloo(0, CAME, DONE, name=name), gloo(1, LATE, DONE, name=name)])] == [1, 9]


def test_where_a_device_communicates_the_host_says_nothing() -> None:
    t = timeline_of([(STREAM, "communication", "all-reduce", at, at + MS) for at in CAME] + [(WORKER, "annotation", "gloo:barrier", 0, 5)])
    events = events_of(t)
    assert device_pieces(t, events).sum() == 10
    assert host_pieces(t, events).sum() == 1
    with_host = [
        msgspec.structs.replace(one, timeline=timeline_of(
            [(STREAM, "communication", "all-reduce", a, b) for a, b in zip(starts, DONE, strict=True)]
            + [(WORKER, "annotation", "gloo:barrier", a - 9 * MS * (at % 2), b) for at, (a, b) in enumerate(zip(starts, DONE, strict=True))]
        ))
        for one, starts in ((gloo(0, CAME, DONE), CAME), (gloo(1, LATE, DONE), LATE))
    ]  # fmt: skip
    assert told(with_host) == told([nccl(0, CAME, DONE), nccl(1, LATE, DONE)])


def test_nothing_is_told_of_too_few_or_of_those_that_do_not_end_together() -> None:
    assert told([gloo(0, CAME[:2], DONE[:2]), gloo(1, LATE[:2], DONE[:2])]) == ()
    apart = [end + (40 + 7 * at) * MS for at, end in enumerate(DONE[:6])] + DONE[6:]
    assert told([gloo(0, CAME, DONE), gloo(1, LATE, apart)]) == ()


def test_a_file_that_began_a_step_later_or_lacks_one_is_matched_by_ends() -> None:
    for lacking in (0, 4, 9):
        starts, ends = ([one for at, one in enumerate(row) if at != lacking] for row in (LATE, DONE))
        first, second = told([gloo(0, CAME, DONE), gloo(1, starts, ends)])
        assert (first.collectives, first.unlike, second.last) == (9, 0, 8)
        assert first.waited_s == pytest.approx(0.160)
        assert second.waited_s == pytest.approx(0.005)


def test_files_of_equally_many_that_begin_a_step_apart_are_matched_by_ends() -> None:
    first, second = told([gloo(0, CAME[:-1], DONE[:-1]), gloo(1, LATE[1:], DONE[1:])])
    assert (first.collectives, second.last) == (8, 7)
    assert first.waited_s == pytest.approx(0.140)
    assert second.waited_s == pytest.approx(0.005)


def test_one_rank_has_nobody_to_wait_for() -> None:
    t = gloo(0, CAME, DONE).timeline
    assert t is not None
    assert rank_uses(t) == ()


def test_collectives_of_the_host_put_files_on_one_clock() -> None:
    shift = 123_456_789
    one = gloo(0, CAME, DONE, base=None)
    other = gloo(1, [at - shift for at in LATE], [at - shift for at in DONE], base=None)
    found = offset_of(one, other)
    assert (found.nanoseconds, found.how, found.matches, found.host) == (shift, "collectives", 10, True)
    assert "10 collectives of the host" in merged([one, other])[0].warnings[0].message
    assert told([one, other]) == told([gloo(0, CAME, DONE), gloo(1, LATE, DONE)])


def test_base_times_that_collectives_of_the_host_agree_with_stand() -> None:
    ends = [end + 40_000 for end in DONE]
    found, skew = merged([gloo(0, CAME, DONE), gloo(1, LATE, ends)])
    assert skew["rank1.json"] == 0
    assert "10 collectives of the host, which end together, agree with it within" in found.warnings[0].message


def test_base_times_that_are_further_off_than_ends_differ_are_put_right() -> None:
    _, skew = merged([gloo(0, CAME, DONE), gloo(1, [at + 9 * MS for at in LATE], [at + 9 * MS for at in DONE])])
    assert skew["rank1.json"] == pytest.approx(9e-3)


# ---- properties ------------------------------------------------------------------------------------------------------------------------

arrivals = st.lists(st.lists(st.integers(0, 90 * MS), min_size=3, max_size=3), min_size=3, max_size=12)


def ranks_of_arrivals(came: list[list[int]], shift: int = 0, spread: int = 0) -> list[Profile]:
    profiles = []
    for rank in range(3):
        starts = [200 * MS * at + row[rank] + shift for at, row in enumerate(came)]
        ends = [200 * MS * at + max(row) + MS + shift + spread * rank for at, row in enumerate(came)]
        profiles.append(gloo(rank, starts, ends))
    return profiles


@settings(max_examples=60, deadline=None)
@given(arrivals, st.integers(0, 50_000))
def test_what_is_waited_is_what_a_plain_sum_says_and_never_more_than_the_window(came: list[list[int]], spread: int) -> None:
    uses = told(ranks_of_arrivals(came, spread=spread))
    # Base times stand, so that the ends of the ranks stay as far apart as they are.
    least = 2 * spread
    for use in uses:
        waits = [max(row) - row[use.rank] for row in came]
        assert use.waited_s == pytest.approx(sum(wait for wait in waits if wait > least) * 1e-9)
        alone = [max(row) - sorted(row)[1] for row in came if row[use.rank] == max(row)]
        assert use.awaited_s == pytest.approx(sum(wait for wait in alone if wait > least) * 1e-9)
        assert 0 <= use.waited_s <= use.window_s
        assert 0 <= use.awaited_s <= use.window_s
        assert 0 <= use.waited_share <= 1
    assert sum(use.last for use in uses) <= len(came)


@settings(max_examples=40, deadline=None)
@given(arrivals, st.integers(-(10**14), 10**14), st.permutations([0, 1, 2]))
def test_a_shift_of_all_and_another_order_of_the_files_change_nothing(came: list[list[int]], shift: int, order: list[int]) -> None:
    plain = told(ranks_of_arrivals(came))
    moved = ranks_of_arrivals(came, shift=shift)
    assert told([moved[at] for at in order]) == plain


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 4), st.integers(1, 40))
def test_waits_of_any_pieces_stay_within_the_window(seed: int, ranks: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    rows = []
    for rank in range(ranks):
        lane = msgspec.structs.replace(WORKER, name=f"rank {rank}", rank=rank)
        starts = rng.integers(0, 40 * MS, count)
        rows += [(lane, "annotation", f"gloo:{at % 2}", int(start), int(start) + int(rng.integers(0, 80 * MS))) for at, start in enumerate(starts)]
    t = timeline_of(rows)
    for use in rank_uses(t):
        assert 0 <= use.waited_s <= use.window_s
        assert 0 <= use.awaited_s <= use.window_s
        assert 0 <= use.last <= use.collectives <= count


def test_the_same_collectives_are_found_as_one_by_one() -> None:
    """A plain loop over ordinals against the columns."""
    t = merged([gloo(0, CAME, DONE), gloo(1, LATE, DONE)])[0].timeline
    assert t is not None
    met = meetings(t, events_of(t), host_pieces(t, events_of(t)), host=True)
    start = t.start_tick.values
    pairs = [sorted(met.event[met.of == at].tolist()) for at in range(len(met.first))]
    assert [[int(start[event]) for event in pair] for pair in pairs] == [list(pair) for pair in zip(CAME, LATE, strict=True)]
    assert met.latest.tolist() == [max(pair) for pair in zip(CAME, LATE, strict=True)]
    waits = [(a, b) for a, b in zip(CAME, LATE, strict=True) if b > a]
    assert union_length(*zip(*waits, strict=True)) == pytest.approx(rank_uses(t)[0].waited_s * 1e9)


def test_ticks_of_any_length_give_seconds() -> None:
    profiles = []
    for rank, starts in enumerate((CAME, LATE)):
        one = gloo(rank, starts, DONE)
        t = one.timeline
        assert t is not None
        coarse = {"start_tick": Column(t.start_tick.values // 1000, "count"), "duration_tick": Column(t.duration_tick.values // 1000, "count")}
        profiles.append(msgspec.structs.replace(one, timeline=msgspec.structs.replace(t, tick_s=1e-6, **coarse)))
    assert [use.waited_s for use in told(profiles)] == pytest.approx([0.180, 0.005])


def test_a_timeline_without_events_tells_nothing() -> None:
    lanes = tuple(msgspec.structs.replace(HOST, name=f"rank {rank}", rank=rank) for rank in range(2))
    empty: Timeline = msgspec.structs.replace(timeline_of([]), tracks=lanes)
    assert rank_uses(empty) == ()
