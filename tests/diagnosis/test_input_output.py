"""Waiting and system calls by hand: where they are, what of them can be kept, and how that is said."""

from __future__ import annotations

import msgspec
import pytest

from ridgeline.core import Diagnosis, Facts, Need, Site
from ridgeline.diagnosis import next as next_step
from support.facts_by_hand import facts, row, split


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
