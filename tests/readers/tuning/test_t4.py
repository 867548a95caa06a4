"""T4 results: units that are said in several ways, validity, and what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from readers.tuning.caches import result, results, written
from ridgeline.core import Parameter, ReadError, Space
from ridgeline.readers.tuning import kind_of_file, read_recorded_space


def _read(folder: Path, document: dict[str, Any], **options: Any) -> Any:
    return read_recorded_space(written(folder, json.dumps(document)), **options)


def test_results_are_read_in_seconds(tmp_path: Path) -> None:
    energy = [
        {"name": "time", "value": 2.0, "unit": "ms"},
        {"name": "nvml_energy", "value": 0.5, "unit": "J"},
        {"name": "GB/s", "value": 3.0, "unit": "GB/s"},
    ]
    found = _read(tmp_path, results(result({"tile": 8, "fast": True}, measurements=energy), result({"tile": 16, "fast": True})))
    assert found.space == Space(parameters=(Parameter(name="tile", values=(8, 16)), Parameter(name="fast", values=(True,))))
    first, second = found.trials
    assert first.runs == second.runs == (0.003, 0.001, 0.002)
    assert (first.build_s, first.metrics) == (0.1, {"energy_j": 0.5})
    assert first.spent_s == pytest.approx(0.125)
    assert (found.measured, found.units) == ({"GB/s": (3.0, None)}, {"GB/s": "GB/s"})
    assert found.overheads["search"] == (0.0005, 0.0005)
    assert kind_of_file(tmp_path / "cache.json") == "t4"


@pytest.mark.parametrize(
    ("unit", "seconds"),
    [("nanoseconds", 3e-9), ("microseconds", 3e-6), ("milliseconds", 3e-3), ("miliseconds", 3e-3), ("seconds", 3.0), ("Milliseconds", 3e-3)],
)
def test_times_are_in_the_unit_that_is_named(tmp_path: Path, unit: str, seconds: float) -> None:
    assert _read(tmp_path, results(result({"a": 1}), timeunit=unit)).trials[0].runs[0] == seconds


def test_a_unit_that_nobody_names_is_not_guessed(tmp_path: Path) -> None:
    """Tools take it for milliseconds, or for seconds."""
    document = results(result({"a": 1}), timeunit=None)
    with pytest.raises(ReadError, match=r"the unit of the times, metadata.timeunit; found: .*names none"):
        _read(tmp_path, document)
    assert _read(tmp_path, document, unit="seconds").trials[0].runs == (3.0, 1.0, 2.0)
    said = results(result({"a": 1}, measurements=[{"name": "time", "value": 2.0, "unit": "ms"}]), timeunit=None)
    assert _read(tmp_path, said).trials[0].runs == (0.003, 0.001, 0.002)
    with pytest.raises(ReadError, match="the unit 'hours'"):
        _read(tmp_path, results(result({"a": 1}), timeunit="hours"))


@pytest.mark.parametrize(
    ("fields", "failure"),
    [
        ({"invalidity": "compile"}, "compile"),
        ({"invalidity": "runtime"}, "run"),
        ({"invalidity": "constraints"}, "invalid"),
        ({"invalidity": "timeout"}, "timeout"),
        ({"invalidity": "correctness", "correctness": 0}, "wrong-output"),
        ({"correctness": 0}, "wrong-output"),
        ({"times": {"runtimes": []}}, "run"),
        ({"times": {"runtimes": [1.0, "x"]}}, "run"),
    ],
)
def test_a_result_that_is_not_valid_has_no_time(tmp_path: Path, fields: dict[str, Any], failure: str) -> None:
    found, _ = _read(tmp_path, results(result({"a": 1}, **fields), result({"a": 1}))).trials
    assert (found.failure, found.runs, found.objective) == (failure, (), None)
    assert found.text


def test_a_measured_time_stands_in_for_run_times(tmp_path: Path) -> None:
    one = result({"a": 1}, times={"compilation_time": 7.0}, measurements=[{"name": "time", "value": 2.0, "unit": ""}])
    (found,) = _read(tmp_path, results(one)).trials
    assert (found.runs, found.build_s) == ((0.002,), 0.007)


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (results(), "a list of results"),
        (results(result({"a": 1}, times={}, objectives=["score"])), "a recording of run times; found: .*its objective is 'score'"),
        ({"results": 3}, "a list of results"),
        (results(3), "an object as result 1"),  # type: ignore[arg-type]
        (results(result({"a": 1}, invalidity="odd")), "invalidity of result 1 as one of correct, compile"),
        (results(result({"a": 1}, invalidity=None)), "invalidity of result 1"),
        (results(result({"a": [1]})), "a number, a text, true or false as a of result 1"),
        (results(result(3)), "an object as configuration of result 1"),  # type: ignore[arg-type]
        (results(result({"a": 1}), result({"b": 1})), "without b in result 1"),
        (results(result({"a": 1}, times=3)), "an object as times of result 1"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, document: dict[str, Any], said: str) -> None:
    with pytest.raises(ReadError, match=said):
        _read(tmp_path, document)


def test_results_of_a_space_that_is_given(tmp_path: Path) -> None:
    space = Space(parameters=(Parameter(name="b", values=(1, 2)), Parameter(name="a", values=(1, 2), when="b > 1")))
    assert _read(tmp_path, results(result({"a": 1, "b": 2}), result({"b": 1})), space=space).space == space
    with pytest.raises(ReadError, match=r"of b: 1, 2; found: b = 3 in result 1"):
        _read(tmp_path, results(result({"a": 1, "b": 3})), space=space)
    with pytest.raises(ReadError, match="with c in result 1"):
        _read(tmp_path, results(result({"a": 1, "b": 2, "c": 1})), space=space)
