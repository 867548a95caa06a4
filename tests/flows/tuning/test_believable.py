"""Lines of a record that this tool never wrote cost themselves with a word, and never change what comes out; of what is read as well."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ridgeline.core import Parameter, Quantity, Space, Trial
from ridgeline.flows.tuning.record import Head, Record, read_record
from ridgeline.tuning.space import Configurations

SPACE = Space(
    parameters=(Parameter(name="tile", values=(8, 16, 32)), Parameter(name="pack", values=(True, False), when="tile > 8")),
    constraints=("tile < 32 or pack",),
)  # fmt: skip
HEAD = Head(name="sum", space=SPACE)


def line(number: int, tile: int) -> dict[str, Any]:
    config: dict[str, Any] = {"tile": tile, **({"pack": True} if tile > 8 else {})}
    objective = {"value": 2.0, "low": 1.0, "high": 3.0, "confidence": 0.75, "unit": "s", "source": "measured"}
    return {"schema": "ridgeline.trial/1", "config": config, "number": number, "objective": objective, "runs": [1.0, 2.0, 3.0], "spent_s": 9.0}


def edited(where: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def edit(said: dict[str, Any]) -> None:
        *above, last = where.split(".")
        for each in above:
            said = said[each]
        if value is None:
            del said[last]
        else:
            said[last] = value

    return edit


EDITS: list[tuple[str, Any, str]] = [
    ("objective.value", float("nan"), "is no trial"), ("objective.value", -1.0, "low ≤ value ≤ high"), ("objective.value", 9.0, "low ≤ value ≤ high"),
    ("objective", {**line(0, 8)["objective"], "value": 0.0, "low": 0.0}, "an objective of 0.0 s"),
    ("objective", {**line(0, 8)["objective"], "value": -2.0, "low": -2.0}, "an objective of -2.0 s"),
    ("objective.unit", "J", "its objective is in 'J', not in s"), ("runs", [1.0, -2.0], "a run of -2.0 s"), ("failure", "nonsense", "is no trial"),
    ("failure", "crash", "it failed (crash) and has an objective"), ("number", -5, "its number is -5"), ("number", 2**63, "its number is"),
    ("number", 0, "its number, 0, was there before"), ("spent_s", -1e9, "it took -1000000000.0 s"), ("spent_s", 1e300, "it took 1e+300 s"),
    ("config.tile", 64, "the space has no tile = 64"), ("config.tile", "16", "the space has no tile = '16'"),
    ("config.tile", 16.0, "the space has no tile = 16.0"), ("config.tile", True, "the space has no tile = True"),
    ("config.more", 1, "the space has no more = 1"),
]  # fmt: skip
#: What only a space with its conditions and constraints tells.
OF_THE_SPACE: list[tuple[str, Any, str]] = [
    ("config.tile", None, "its configuration is none of the space"), ("config.pack", None, "its configuration is none of the space"),
    ("config", {"tile": 8, "pack": True}, "its configuration is none of the space"),
    ("config", {"tile": 32, "pack": False}, "its configuration is none of the space"),
]  # fmt: skip


def written(path: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    with Record(path, HEAD):
        pass
    lines = [line(0, 8), line(1, 16), line(2, 32)]
    edit(lines[1])
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(each) + "\n" for each in lines)


@pytest.mark.parametrize(("where", "value", "said"), [*EDITS, *OF_THE_SPACE])
def test_what_was_edited_by_hand_costs_its_line_with_a_word(where: str, value: Any, said: str, tmp_path: Path) -> None:
    written(tmp_path / "r", edited(where, value))
    with Record(tmp_path / "r", HEAD, resume=True, configurations=Configurations(SPACE)) as record:
        assert [trial.number for trial in record.trials] == [0, 2]
        (remark,) = record.remarks
    assert "line 3" in remark
    assert "passed over" in remark
    assert said in remark


@pytest.mark.parametrize(("where", "value", "said"), EDITS)
def test_whoever_reads_a_record_without_its_space_is_told_as_well(where: str, value: Any, said: str, tmp_path: Path) -> None:
    written(tmp_path / "r", edited(where, value))
    found = read_record(tmp_path / "r")
    assert ([trial.number for trial in found.trials], found.lines) == ([0, 2], [2, 4])
    assert said in found.remarks[0]


def test_what_was_written_is_believed(tmp_path: Path) -> None:
    """An objective that could not be measured, a run of 0 bytes and a failure among them."""
    objective = Quantity(value=3.0, low=0.0, high=4.0, confidence=0.75, unit="B", source="measured")
    trials = [
        Trial(config={"tile": 8}, number=0, objective=objective, runs=(0.0, 3.0, 4.0)),
        Trial(config={"tile": 16, "pack": False}, number=1, failure="compile", text="no"),
        Trial(config={"tile": 32, "pack": True}, number=2),
    ]
    head = Head(name="sum", space=SPACE, unit="B", objectives=("memory",))
    with Record(tmp_path / "r", head) as record:
        for trial in trials:
            record.add(trial)
    with Record(tmp_path / "r", head, resume=True, configurations=Configurations(SPACE)) as record:
        assert (record.trials, record.remarks) == (trials, [])
