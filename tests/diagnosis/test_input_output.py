"""Waiting and system calls by hand: where they are, what of them can be kept, and how that is said."""

from __future__ import annotations

import msgspec
import pytest

from ridgeline.core import Diagnosis, Facts, HotSpot, HotSpots, LevelRecord, Need, Site, Wait, WaitTable
from ridgeline.core.waits import WaitKind
from ridgeline.diagnosis import next as next_step
from ridgeline.diagnosis.case import Case
from ridgeline.diagnosis.one_after_another import one_after_another
from support.facts_by_hand import exact, facts, row, split


def asking(kind: str, seconds: float, line: int = 3, group: str = "python"):
    site = Site(file="net.py", line=line, function="work")
    return row(f"{kind}@net.py:{line}", seconds, kind=kind, group=group, site=site, reads=None, writes=None)


def diagnose(*rows, **shares: float) -> Diagnosis:
    made: Facts = facts(list(rows), wall_split=split(**shares))
    step = next_step(made)
    assert not isinstance(step, Need), step
    assert step.bottleneck.cause == "input-output"
    return step


def actions(found: Diagnosis) -> list[str]:
    return [action.action for action in found.actions]


@pytest.mark.parametrize(
    "kind",
    ["posix.urandom", "secrets.token_bytes", "time.sleep", "builtins.input", "_socket.socket.recv", "socket.socket.recv", "ssl.SSLSocket.read",
     "select.poll", "posix.fsync", "posix.write", "io.FileIO.write"],
)  # fmt: skip
def test_what_differs_by_call_or_is_done_for_its_effect_is_not_kept(kind: str):
    found = diagnose(asking(kind, 0.0099), system=0.99)
    assert "cache" not in actions(found)
    assert (found.bottleneck.where.operator, found.bottleneck.where.line) == (f"{kind}@net.py:3", 3)


@pytest.mark.parametrize("kind", ["io.FileIO.read", "_io.BufferedReader.read", "posix.stat", "subprocess.run"])
def test_what_may_stay_the_same_can_be_kept_as_long_as_it_does(kind: str):
    found = diagnose(asking(kind, 0.0099), system=0.99)
    assert found.actions[0].action == "cache"
    assert "as long as" in found.actions[0].because
    # Between one half and all of 97–100 % of the wall.
    assert found.actions[0].speedup[0] == pytest.approx(1 / (1 - 0.99 * 0.98 / 2), rel=1e-3)


def asleep(*waits: Wait, call: str = "") -> Diagnosis:
    """A program that does nothing but sleep has no operators: only its timed waits and the sampled line say what it asks."""
    table = WaitTable(waits=waits, wall_s=exact(0.01, "s"), instrument="stopwatches")
    spot = HotSpot(site=Site(file="net.py", line=3, function="work"), samples=180, state="blocked", call=call)
    spots = HotSpots(spots=(spot,), samples=180, interval_s=0.01, instrument="frames")
    made = facts([], operators=None, waits=table, hot_spots=spots, wall_split=split(blocked=0.99))
    step = next_step(msgspec.structs.replace(made, cannot=dict.fromkeys(("operators", "dispatch"), "not here")))
    assert not isinstance(step, Need), step
    return step


def waited(kind: WaitKind, on: str, caller: float = 0.0099) -> Wait:
    return Wait(kind=kind, calls=1.0, total_s=exact(0.0099, "s"), caller_s=exact(caller, "s"), on=on)


@pytest.mark.parametrize(
    ("waits", "call", "kept"),
    [((waited("sleep", "time.sleep"),), "", False), ((waited("socket", "socket.socket.recv"),), "", False),
     ((waited("file", "os.fsync"),), "", False),
     ((waited("process", "subprocess.run"), waited("sleep", "time.sleep", 0.0)), "", True),
     ((), "a.recv", False), ((), "sys.stdin.readline", False), ((), "open(name).read", True), ((), "", True)],
)  # fmt: skip
def test_what_sleeps_is_told_by_its_timed_waits_and_lines_where_no_operator_was_seen(waits: tuple[Wait, ...], call: str, kept: bool):
    found = asleep(*waits, call=call)
    assert (found.bottleneck.cause, found.bottleneck.where.line) == ("input-output", 3)
    assert ("cache" in actions(found)) is kept


def test_only_the_part_that_can_be_kept_is_promised():
    found = diagnose(asking("posix.urandom", 0.0055, line=3), asking("io.FileIO.read", 0.0044, line=4), system=0.99)
    kept = next(action for action in found.actions if action.action == "cache")
    assert kept.speedup[1] <= 1 / (1 - 0.45)
    assert found.bottleneck.where.line == 3
    assert "cache" not in actions(diagnose(asking("posix.urandom", 0.009, line=3), asking("io.FileIO.read", 0.0009, line=4), system=0.99))


@pytest.mark.parametrize(
    ("shares", "said", "unsaid"),
    [({"system": 0.99}, "99% of the wall is in system calls", "asleep"), ({"blocked": 0.9}, "90% of the wall is asleep", "system calls"),
     ({"blocked": 0.5, "system": 0.4}, "50% of the wall is asleep, waiting for something outside the process, 40% is in sys", "of the wall is in")],
)  # fmt: skip
def test_a_part_that_is_not_there_is_not_said(shares: dict[str, float], said: str, unsaid: str):
    found = diagnose(asking("io.FileIO.read", 0.0099), **shares)
    assert found.bottleneck.summary.startswith(said)
    assert unsaid not in found.bottleneck.summary
    because = next(action.because for action in found.actions if action.action == "cache")
    assert ("asleep" in because) == ("blocked" in shares)


def test_what_sleeps_is_the_place_where_sleep_is_most_of_it():
    reads, sleeps = asking("io.FileIO.read", 0.004, line=3), asking("time.sleep", 0.003, line=4, group="blocking")
    assert diagnose(reads, sleeps, blocked=0.6, system=0.3).bottleneck.where.line == 4
    assert diagnose(reads, sleeps, blocked=0.3, system=0.6).bottleneck.where.line == 3


def test_a_cause_without_an_action_is_named_all_the_same():
    found = diagnose(asking("posix.urandom", 0.0099), system=0.99)
    assert not found.actions
    assert found.bound == "latency"
    assert msgspec.json.decode(msgspec.json.encode(found))["actions"] == []


def in_turn(count: float, each: float, kind: WaitKind = "sleep", on: str = "time.sleep", **fields: object) -> Wait:
    seconds = count * each
    known = {"calls": count, "total_s": exact(seconds, "s"), "caller_s": exact(seconds, "s"), "on": on, "longest_s": each, **fields}
    return Wait(kind=kind, **known)  # type: ignore[arg-type]


def test_waits_one_after_another_are_started_together_as_far_as_amdahl_goes():
    found = asleep(in_turn(4, 0.0024))
    action = found.actions[0]
    assert (action.action, action.metric) == ("prefetch", "latency")
    # 96 % of the wall in four equal waits; carefully, half of that gain.
    assert action.speedup == pytest.approx((1 / (0.04 + 0.96 / 2.5), 1 / (0.04 + 0.96 / 4)))
    assert "waits 4 times one after another, 96% of the wall; if no wait needs the result of the one before" in action.because
    assert found.bottleneck.summary == "99% of the wall is asleep, waiting for something outside the process, 4 times one after another"


def test_the_longest_of_equal_waits_may_be_so_by_chance_and_not_by_far():
    assert asleep(in_turn(4, 0.0024, longest_s=0.0029)).actions[0].speedup[1] == pytest.approx(1 / (0.04 + 0.96 / 4))
    # One of the four has 6 of the 9.6 ms: at least 4.8 remain.
    assert asleep(in_turn(4, 0.0024, longest_s=0.006)).actions[0].speedup[1] == pytest.approx(1 / (0.04 + 0.48))


def test_waits_of_unlike_lengths_take_as_long_as_the_longest():
    # 4.5 ms at one line, and 3 × 1.5 ms at another: together 4.5 ms of 9.
    action = asleep(in_turn(1, 0.0045), in_turn(3, 0.0015)).actions[0]
    assert (action.metric, action.speedup[1]) == ("latency", pytest.approx(1 / (0.1 + 0.9 / 2)))


def test_the_careful_end_counts_on_few_waits_at_a_time():
    action = asleep(in_turn(18, 0.00055)).actions[0]
    assert action.speedup == pytest.approx((1 / (0.01 + 0.99 / 4.5), 1 / (0.01 + 0.99 / 18)))


def test_of_a_peer_it_is_not_known_whether_it_answers_several_at_once():
    action = asleep(in_turn(4, 0.0024, "socket", "socket.socket.recv")).actions[0]
    assert (action.metric, action.speedup) == ("latency", pytest.approx((1.0, 1 / (0.04 + 0.96 / 4))))
    assert "and the other side answers several at once" in action.because


@pytest.mark.parametrize(
    "wait",
    [
        in_turn(1, 0.0099),  # nothing to overlap it with
        in_turn(4, 0.0024, until=True),  # until something is so
        in_turn(60, 0.00016),  # too short to hand to a thread
        in_turn(4, 0.0024, "file", "os.fsync"),  # in the order of the journal
        in_turn(4, 0.0024, "socket", "select.select"),  # looks at several already
        in_turn(4, 0.0024, caller_s=exact(0.0, "s")),  # other threads, beside the caller
    ],
    ids=["one", "until", "short", "file", "select", "threads"],
)
def test_waits_that_do_not_overlap_inside_a_call_shorten_none(wait: Wait):
    found = asleep(wait)
    assert {action.metric for action in found.actions if action.action == "prefetch"} <= {"period"}
    assert "one after another" not in found.bottleneck.summary


def test_nothing_is_promised_where_the_stopwatches_changed_the_time():
    table = WaitTable(waits=(in_turn(4, 0.0024),), wall_s=exact(0.01, "s"), instrument="stopwatches")
    level = LevelRecord(level=5, instrument="stopwatches", perturbed=True)
    assert one_after_another(Case.of(facts([], waits=table))) is not None
    assert one_after_another(Case.of(facts([], waits=table, levels=(level,)))) is None
