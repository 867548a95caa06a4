"""Waiting and system calls by hand: where they are, what of them can be kept, and how that is said."""

from __future__ import annotations

import msgspec
import pytest

from ridgeline.core import Diagnosis, Facts, HotSpot, HotSpots, Need, Site, Wait, WaitTable
from ridgeline.core.waits import WaitKind
from ridgeline.diagnosis import next as next_step
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
