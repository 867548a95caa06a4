"""Caches, T4 results and T1 problems that are written: read again they are the same, and a file is there whole or not at all."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.core import KernelProblem, Parameter, ProblemArgument, RecordedSpace, Space, Trial, UsageError
from ridgeline.readers.tuning import read_problem, read_recorded_space
from ridgeline.reporting.export.tuning import write_cache, write_problem, write_results
from ridgeline.reporting.export.tuning.times import in_unit

_NAMES = st.from_regex(r"[a-z_]{1,6}", fullmatch=True).filter(lambda name: name not in ("time", "times"))
_FINITE = st.floats(1e-6, 1e6)
_VALUES = st.one_of(
    st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=4, unique=True),
    st.lists(st.text(max_size=4), min_size=1, max_size=4, unique=True),
    st.just([True, False]),
    st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=4, unique=True),
)  # fmt: skip
_FAILURES = ("CompilationFailedConfig", "RuntimeFailedConfig", "InvalidConfig")


@st.composite
def _documents(draw: st.DrawFn) -> dict[str, Any]:
    """A cache as Kernel Tuner writes it, with any of its fields."""
    parameters = draw(st.dictionaries(_NAMES, _VALUES, min_size=1, max_size=3))
    entries: dict[str, Any] = {}
    for _ in range(draw(st.integers(0, 6))):
        config = {name: draw(st.sampled_from(values)) for name, values in parameters.items()}
        entry = {**config, "compile_time": draw(_FINITE)}
        entry |= draw(st.dictionaries(st.sampled_from(["benchmark_time", "verification_time", "strategy_time", "framework_time", "GB/s"]), _FINITE))
        runs = draw(st.lists(_FINITE, max_size=5))
        if draw(st.booleans()) and runs:
            entry |= {"time": sum(runs) / len(runs), "times": runs}
        else:
            entry |= {"time": draw(st.one_of(_FINITE, st.sampled_from(_FAILURES)))}
        entries[",".join(map(str, config.values()))] = entry
    return {
        "device_name": draw(st.text(max_size=8)), "kernel_name": draw(st.text(max_size=8)), "problem_size": draw(st.lists(st.integers(1, 9))),
        "tune_params_keys": list(parameters), "tune_params": parameters, "objective": "time", "cache": entries,
    }  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(_documents())
def test_what_was_read_of_a_cache_is_read_again_after_writing(tmp_path_factory: pytest.TempPathFactory, document: dict[str, Any]) -> None:
    folder = tmp_path_factory.mktemp("caches")
    (folder / "a.json").write_text(json.dumps(document))
    first = read_recorded_space(folder / "a.json")
    write_cache(first, folder / "b.json")
    assert read_recorded_space(folder / "b.json") == first
    if first.trials:
        write_results(first, folder / "t4.json")
        again = read_recorded_space(folder / "t4.json", space=first.space)
        assert _alike(again, first)
        write_results(again, folder / "t4b.json")
        assert read_recorded_space(folder / "t4b.json", space=first.space) == again


def _alike(one: RecordedSpace, other: RecordedSpace) -> bool:
    """But for the words of failures and where a time is from."""

    def plain(trial: Trial) -> tuple[Any, ...]:
        return trial.config, trial.runs, trial.failure, trial.build_s, trial.spent_s, trial.metrics

    return [plain(each) for each in one.trials] == [plain(each) for each in other.trials] and one.measured == other.measured


@given(st.floats(1e-9, 1e9))
def test_milliseconds_that_were_read_are_written_as_they_were(milliseconds: float) -> None:
    seconds = milliseconds / 1000.0
    assert in_unit(seconds, 1000.0) / 1000.0 == seconds


def test_times_of_our_own_that_no_millisecond_stands_for_are_written_in_seconds(tmp_path: Path) -> None:
    runs = tuple(1.5 + place * math.ulp(1.5) for place in range(200))
    space = Space(parameters=(Parameter(name="a", values=(1,)),))
    write_results(RecordedSpace(space=space, trials=(Trial(config={"a": 1}, runs=runs),)), tmp_path / "t4.json")
    assert json.loads((tmp_path / "t4.json").read_text())["metadata"]["timeunit"] == "seconds"
    assert read_recorded_space(tmp_path / "t4.json").trials[0].runs == runs


@pytest.mark.parametrize(
    ("failure", "word", "t4"),
    [
        ("compile", "CompilationFailedConfig", "compile"), ("invalid", "InvalidConfig", "constraints"), ("run", "RuntimeFailedConfig", "runtime"),
        ("crash", "RuntimeFailedConfig", "runtime"), ("wrong-output", "RuntimeFailedConfig", "correctness"),
        ("timeout", "RuntimeFailedConfig", "timeout"), ("memory", "RuntimeFailedConfig", "runtime"), ("lost", "RuntimeFailedConfig", "runtime"),
    ],
)  # fmt: skip
def test_failures_have_the_words_of_the_format(tmp_path: Path, failure: Any, word: str, t4: str) -> None:
    space = Space(parameters=(Parameter(name="a", values=(1,)),))
    recorded = RecordedSpace(space=space, trials=(Trial(config={"a": 1}, failure=failure, text="error: no such thing"),))
    write_cache(recorded, tmp_path / "cache.json")
    assert json.loads((tmp_path / "cache.json").read_text())["cache"]["1"]["time"] == word
    write_results(recorded, tmp_path / "t4.json")
    assert json.loads((tmp_path / "t4.json").read_text())["results"][0]["invalidity"] == t4


def test_several_trials_of_a_configuration_are_one_entry_of_a_cache(tmp_path: Path) -> None:
    space = Space(parameters=(Parameter(name="a", values=(1, 2)),))
    trials = (
        Trial(config={"a": 1}, runs=(0.001, 0.002), build_s=1.0, spent_s=3.0), Trial(config={"a": 2}, number=1, runs=(0.5,)),
        Trial(config={"a": 1}, number=2, runs=(0.004,)), Trial(config={"a": 2}, number=3, failure="timeout"),
    )  # fmt: skip
    write_cache(RecordedSpace(space=space, trials=trials), tmp_path / "cache.json")
    first, second = read_recorded_space(tmp_path / "cache.json").trials
    assert first.runs == (0.001, 0.002, 0.004)
    assert second.failure == "run"


def test_the_cache_is_closed_as_kernel_tuner_closes_it(tmp_path: Path) -> None:
    """It goes on with one by taking the last three characters away."""
    space = Space(parameters=(Parameter(name="a", values=(1,)),), constraints=("a > 0",))
    write_cache(RecordedSpace(space=space, trials=(Trial(config={"a": 1}, runs=(0.5,)),), problem=(7,)), tmp_path / "cache.json")
    text = (tmp_path / "cache.json").read_text()
    assert text.endswith("}}\n}")
    assert json.loads(text[:-3] + "}}")["cache"]["1"]["times"] == [500.0]
    assert json.loads(text)["problem_size"] == 7
    assert read_recorded_space(tmp_path / "cache.json").space == space


@pytest.mark.parametrize(
    ("recorded", "said"),
    [
        (
            RecordedSpace(space=Space(parameters=(Parameter(name="a", values=(1,), when="b"), Parameter(name="b", values=(True, False)))),
                          trials=(Trial(config={"b": False}, runs=(1.0,)),)),
            "trial 0 without a",
        ),
        (RecordedSpace(space=Space(parameters=(Parameter(name="time", values=(1,)),)), trials=()), "found: time"),
    ],
)  # fmt: skip
def test_what_a_cache_has_no_word_for_is_refused(tmp_path: Path, recorded: RecordedSpace, said: str) -> None:
    (tmp_path / "cache.json").write_text("as before")
    with pytest.raises(UsageError, match=said):
        write_cache(recorded, tmp_path / "cache.json")
    assert (tmp_path / "cache.json").read_text() == "as before"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_file_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    recorded = RecordedSpace(space=Space(parameters=(Parameter(name="a", values=(1,)),)), trials=())
    for write in (write_cache, write_results):
        with pytest.raises(UsageError, match="a file that can be written"):
            write(recorded, tmp_path / "none" / "file.json")


_WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8).filter(str.strip)
_PROBLEMS = st.builds(
    KernelProblem,
    space=st.builds(
        Space,
        parameters=st.dictionaries(_NAMES, _VALUES, min_size=1, max_size=3).map(
            lambda found: tuple(Parameter(name=name, values=tuple(values)) for name, values in found.items())
        ),
        constraints=st.lists(st.sampled_from(["a > 1", "min(a, b) == 3", "a in (1, 'x') or b"]), max_size=2).map(tuple),
    ),
    kernel=_WORDS, file=_WORDS, language=st.sampled_from(["OpenCL", "CUDA", "Vulkan"]), flags=st.lists(_WORDS, max_size=2).map(tuple),
    global_size=st.lists(_WORDS, min_size=1, max_size=3).map(tuple), local_size=st.lists(_WORDS, min_size=1, max_size=3).map(tuple),
    size_type=st.sampled_from(["", "OpenCL", "CUDA"]), shared_bytes=st.integers(0, 2**20), problem=st.lists(st.integers(1, 9), max_size=3).map(tuple),
    arguments=st.lists(
        st.builds(
            ProblemArgument, name=st.text(max_size=5), type=st.sampled_from(["float", "int32"]), memory=st.sampled_from(["Scalar", "Vector"]),
            access=st.sampled_from(["", "ReadWrite"]), size=st.one_of(st.none(), st.integers(0, 99), _WORDS), fill=st.sampled_from(["", "Random"]),
            value=st.one_of(st.none(), st.floats(-1e9, 1e9)), seed=st.one_of(st.none(), st.integers(0, 9)), output=st.booleans(),
        ), max_size=3,
    ).map(tuple),
    device=st.text(max_size=5), strategy=st.text(max_size=5), trials=st.one_of(st.none(), st.integers(1, 99)),
    time_s=st.one_of(st.none(), st.floats(1, 1e6)),
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(_PROBLEMS, st.data())
def test_a_problem_is_the_same_after_writing(tmp_path_factory: pytest.TempPathFactory, problem: KernelProblem, data: st.DataObject) -> None:
    first = problem.space.parameters[0]
    problem = msgspec.structs.replace(problem, default={first.name: data.draw(st.sampled_from(first.values))} if data.draw(st.booleans()) else {})
    path = tmp_path_factory.mktemp("problems") / "problem.json"
    write_problem(problem, path)
    assert read_problem(path) == problem


@pytest.mark.parametrize(
    ("parameter", "said"),
    [(Parameter(name="a", values=(1,), when="b"), "a when b"), (Parameter(name="a", values=(1, "x")), "a with int, str")],
)
def test_what_t1_has_no_word_for_is_refused(tmp_path: Path, parameter: Parameter, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        write_problem(KernelProblem(space=Space(parameters=(parameter,)), kernel="f", file="f.cl"), tmp_path / "problem.json")
    assert not list(tmp_path.iterdir())
