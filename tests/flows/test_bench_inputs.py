"""`ridgeline.bench` with inputs and with a function that waits: in fresh processes where both can be found there, else here."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import ridgeline
from ridgeline.core import BenchReport, UsageError

SHORT: dict[str, Any] = {"processes": 1, "samples": 12, "time_budget_s": 1.0}
HERE = __name__


def twice(number: int) -> int:
    return sum(range(number))


def numbers() -> dict[str, int]:
    return {"small": 10, "large": 3000}


POOL = ThreadPoolExecutor(1)


def submitted() -> Any:
    return POOL.submit(sum, range(100))


def waiting(result: Any) -> None:
    result.result()


def codes(report: BenchReport) -> set[str]:
    return {caution.code for caution in report.warnings}


def test_inputs_by_name_are_measured_in_fresh_processes() -> None:
    report = ridgeline.bench(twice, inputs=f"{HERE}:numbers", **SHORT)
    assert {one.name: one.samples for one in report.inputs} == {"small": 6, "large": 6}
    assert "in-this-process" not in codes(report)


@pytest.mark.parametrize("inputs", [numbers(), [10, 3000], (number for number in (10, 3000))])
def test_inputs_that_are_objects_are_measured_here(inputs: Any) -> None:
    names = list(inputs) if isinstance(inputs, dict) else ["0", "1"]
    report = ridgeline.bench(twice, inputs=inputs, **SHORT)
    assert {one.name: one.samples for one in report.inputs} == dict.fromkeys(names, 6)
    assert "in-this-process" in codes(report)


def test_a_lambda_takes_inputs_by_name_too() -> None:
    report = ridgeline.bench(lambda number: number, inputs=f"{HERE}:numbers", **SHORT)
    assert sorted(one.name for one in report.inputs) == ["large", "small"]


@pytest.mark.parametrize("synchronise", ["auto", f"{HERE}:waiting", waiting])
def test_a_result_is_waited_for_as_it_was_asked(synchronise: Any) -> None:
    report = ridgeline.bench(submitted, synchronise=synchronise, **SHORT)
    assert report.overhead is not None
    assert report.overhead.synchronise_s is not None
    assert not codes(report) & {"unsynchronised", "in-this-process"}


def test_a_function_that_only_exists_here_waits_here() -> None:
    waited: list[Any] = []

    def wait(result: Any) -> None:
        waited.append(result.result())

    report = ridgeline.bench(submitted, synchronise=wait, **SHORT)
    assert waited
    assert "in-this-process" in codes(report)


def test_not_waiting_is_said() -> None:
    report = ridgeline.bench(submitted, synchronise="none", **SHORT)
    assert "unsynchronised" in codes(report)
    assert report.overhead is not None
    assert report.overhead.synchronise_s is None


@pytest.mark.parametrize(
    ("target", "options", "says"),
    [
        (lambda: 1, {"inputs": [1]}, "one argument"),
        (twice, {"inputs": []}, "none"),
        (twice, {"inputs": 3}, "a int"),
        (twice, {"inputs": "no function"}, "function"),
        (twice, {"synchronise": 3}, "synchronise"),
        (twice, {"synchronise": "sometimes"}, "auto, none"),
        ("package.module:function", {"inputs": [1]}, "as texts"),
        ("package.module:function", {"synchronise": waiting}, "as texts"),
    ],
)
def test_what_cannot_be_is_one_line(target: Any, options: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        ridgeline.bench(target, **options, **SHORT)
    assert len(str(caught.value).splitlines()) == 1
