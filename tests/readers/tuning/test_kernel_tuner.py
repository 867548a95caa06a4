"""Caches of Kernel Tuner: whole, packed, still being written, damaged, and of another space."""

from __future__ import annotations

import contextlib
import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readers.tuning.caches import ENTRIES, as_kernel_tuner_writes, cache, written
from ridgeline.core import NotComparable, Parameter, ReadError, RidgelineError, Space
from ridgeline.readers.tuning import read_recorded_space

SPACE = Space(parameters=(Parameter(name="tile", values=(8, 16)), Parameter(name="way", values=("row", "column"))))


def test_a_cache_is_read_in_seconds(tmp_path: Path) -> None:
    found = read_recorded_space(written(tmp_path, as_kernel_tuner_writes(cache())))
    assert found.space == SPACE
    assert (found.kernel, found.device, found.problem, found.objective, found.unit) == ("sum", "Device A", (1024, 1), "time", "s")
    first, second, third, fourth = found.trials
    assert first.config == {"tile": 8, "way": "row"}
    assert first.runs == (0.003, 0.001, 0.002)
    assert first.objective is not None
    assert (first.objective.value, first.objective.low, first.objective.high, first.objective.confidence) == (0.002, 0.001, 0.003, 0.75)
    assert (first.build_s, first.metrics) == (0.1, {"energy_j": 0.25})
    assert first.spent_s == pytest.approx(0.1255)
    assert (second.failure, second.text, second.runs, second.objective) == ("compile", "CompilationFailedConfig", (), None)
    assert (third.runs, third.failure) == ((0.0005,), None)
    assert (fourth.failure, fourth.text) == ("invalid", "InvalidConfig")
    assert found.measured == {"GFLOP/s": (12.5, None, None, None)}
    assert found.overheads["framework"] == (0.0015, 0.0, 0.0, 0.0)
    assert not found.remarks


@pytest.mark.parametrize("name", ["cache.json", "cache.json.gz"])
def test_one_that_is_still_being_written_is_read(tmp_path: Path, name: str) -> None:
    whole = read_recorded_space(written(tmp_path, as_kernel_tuner_writes(cache())))
    found = read_recorded_space(written(tmp_path, as_kernel_tuner_writes(cache(), closed=False), name))
    assert found.trials == whole.trials
    assert found.remarks == ("it was still being written: its closing braces are missing",)


def test_cut_off_anywhere_all_whole_configurations_are_read(tmp_path: Path) -> None:
    text = as_kernel_tuner_writes(cache())
    begin = text.index('"cache": {') + len('"cache": {')
    whole = read_recorded_space(written(tmp_path, text)).trials
    ends = [text.index(json.dumps({key: entry})[1:-1]) + len(json.dumps({key: entry})[1:-1]) for key, entry in ENTRIES.items()]
    for cut in range(begin, len(text)):
        found = read_recorded_space(written(tmp_path, text[:cut]))
        assert found.trials == whole[: sum(end <= cut for end in ends)], text[:cut][-60:]
        assert found.remarks


def test_without_its_last_brace_it_is_read(tmp_path: Path) -> None:
    text = as_kernel_tuner_writes(cache())
    assert len(read_recorded_space(written(tmp_path, text.rstrip("}\n") + "}}")).trials) == 4
    assert len(read_recorded_space(written(tmp_path, "  \n" + text + "\n\n")).trials) == 4


def test_a_packed_one_that_is_cut_short_gives_what_came_before(tmp_path: Path) -> None:
    generator = random.Random(0)
    entries = {f"{n}": {"n": n, "time": generator.random()} for n in range(4000)}
    document = cache({"tune_params_keys": ["n"], "tune_params": {"n": list(range(4000))}}, entries)
    packed = gzip.compress(as_kernel_tuner_writes(document).encode())
    (tmp_path / "cut.json.gz").write_bytes(packed[: len(packed) * 3 // 4])
    found = read_recorded_space(tmp_path / "cut.json.gz")
    assert 1000 < len(found.trials) < 4000
    assert "cut short" in found.remarks[0]


def test_parameters_are_read_by_name_whatever_their_order(tmp_path: Path) -> None:
    """The keys of `tune_params` and of each configuration may stand in any order; `tune_params_keys` says which is theirs."""
    turned = {key: dict(reversed(entry.items())) for key, entry in ENTRIES.items()}
    document = cache({"tune_params": {"way": ["row", "column"], "tile": [8, 16]}}, turned)
    assert read_recorded_space(written(tmp_path, as_kernel_tuner_writes(document))) == read_recorded_space(
        written(tmp_path, as_kernel_tuner_writes(cache()), "right.json")
    )


def test_one_of_another_order_is_refused_with_the_difference(tmp_path: Path) -> None:
    turned = {",".join(reversed(key.split(","))): entry for key, entry in ENTRIES.items()}
    path = written(tmp_path, as_kernel_tuner_writes(cache({"tune_params_keys": ["way", "tile"]}, turned)))
    assert [each.name for each in read_recorded_space(path).space.parameters] == ["way", "tile"]
    with pytest.raises(NotComparable, match=r"in the order tile, way; found: way, tile in .*cache\.json"):
        read_recorded_space(path, space=SPACE)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ((SPACE.parameters[0],), "with way"),
        ((*SPACE.parameters, Parameter(name="unroll", values=(1,))), "without unroll"),
        ((Parameter(name="tile", values=(8, 16, 32)), SPACE.parameters[1]), "without 32"),
        ((Parameter(name="tile", values=(8,)), SPACE.parameters[1]), "with 16"),
        ((Parameter(name="tile", values=(8, 16)), Parameter(name="way", values=(True, False))), "without True, False"),
    ],
)
def test_one_of_another_space_is_refused_with_the_difference(tmp_path: Path, parameters: tuple[Parameter, ...], said: str) -> None:
    path = written(tmp_path, as_kernel_tuner_writes(cache()))
    assert read_recorded_space(path, space=SPACE).trials
    with pytest.raises(NotComparable, match=said):
        read_recorded_space(path, space=Space(parameters=parameters))


def test_one_is_not_true(tmp_path: Path) -> None:
    entries = {"True": {"flag": True, "time": 1.0}}
    document = cache({"tune_params_keys": ["flag"], "tune_params": {"flag": [True, False]}}, entries)
    path = written(tmp_path, as_kernel_tuner_writes(document))
    assert read_recorded_space(path).trials[0].config == {"flag": True}
    with pytest.raises(NotComparable, match="without 1, 0"):
        read_recorded_space(path, space=Space(parameters=(Parameter(name="flag", values=(1, 0)),)))


def test_restrictions_are_constraints(tmp_path: Path) -> None:
    found = read_recorded_space(written(tmp_path, as_kernel_tuner_writes(cache({"restrictions": ["tile > 4"]}))))
    assert found.space.constraints == ("tile > 4",)


@pytest.mark.parametrize(
    ("entry", "failure", "text"),
    [
        ({"time": "RuntimeFailedConfig"}, "run", "RuntimeFailedConfig"),
        ({"time": "ErrorConfig"}, "run", "ErrorConfig"),
        ({"GFLOP/s": "CompilationFailedConfig", "time": 1.0}, "compile", "CompilationFailedConfig"),
        ({"time": 0.0}, "run", "a time of 0.0"),
        ({"time": -1}, "run", "a time of -1"),
        ({"time": 1.0, "times": [1.0, float("nan")]}, "run", "a time of nan"),
        ({"time": float("inf")}, "run", "a time of inf"),
        ({"time": True}, "run", "a time of True"),
        ({"time": 1e20}, "run", "a time of 1e+20, by which older versions"),
        ({"time": 10**400}, "run", "a time of 1000"),
    ],
)
def test_what_is_no_time_is_a_failure(tmp_path: Path, entry: dict[str, Any], failure: str, text: str) -> None:
    document = cache(entries={"8,row": {"tile": 8, "way": "row", **entry}})
    (found,) = read_recorded_space(written(tmp_path, as_kernel_tuner_writes(document))).trials
    assert (found.failure, found.objective, found.runs) == (failure, None, ())
    assert found.text.startswith(text)


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (cache(entries={"16,row": {"tile": 16, "time": 1.0}}), "none of way"),
        (cache(entries={"32,row": {"tile": 32, "way": "row", "time": 1.0}}), "tile = 32 in configuration '32,row'"),
        (cache(entries={"row,8": {"tile": 8, "way": "row", "time": 1.0}}), "here 8,row; found: .*the key 'row,8'"),
        (cache(entries={"8,row": 3}), "an object as configuration '8,row'"),
        (cache(entries={"8,row": {"tile": [8], "way": "row", "time": 1.0}}), r"\[8\]"),
        (cache({"tune_params_keys": ["tile"]}), "tune_params_keys that are those of tune_params"),
        (cache({"tune_params_keys": 3}), "tune_params_keys"),
        (cache({"tune_params": None}), "an object as tune_params"),
        (cache({"tune_params": {"tile": [], "way": ["row"]}}), "a list of values of tile"),
        ({**cache(), "cache": []}, "an object as cache"),
        ({"something": 1}, "JSON of another kind"),
        ({"ConfigurationSpace": {}}, "a problem in the T1 format"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, document: dict[str, Any], said: str) -> None:
    with pytest.raises(ReadError, match=said) as caught:
        read_recorded_space(written(tmp_path, json.dumps(document)))
    assert "cache.json" in str(caught.value)
    assert caught.value.remedy


def test_a_recording_of_something_else_than_times_is_refused(tmp_path: Path) -> None:
    entries = {"8,row": {"tile": 8, "way": "row", "score": 0.5}, "16,row": {"tile": 16, "way": "row", "score": "InvalidConfig"}}
    path = written(tmp_path, as_kernel_tuner_writes(cache({"objective": "score"}, entries)))
    with pytest.raises(ReadError, match=r"a recording of run times; found: .*its objective is 'score'"):
        read_recorded_space(path)
    entries["8,column"] = {"tile": 8, "way": "column", "time": 1.0}
    assert [each.failure for each in read_recorded_space(written(tmp_path, as_kernel_tuner_writes(cache(entries=entries)))).trials] == [
        "run", "invalid", None,
    ]  # fmt: skip


@pytest.mark.parametrize("data", [b"", b"   ", b"{", b"[]", b"3", b"\xff\xfe\x00", b'{"cache": ', b'"cache"', b"[" * 5000, b'{"cache":{' * 3000])
def test_what_is_no_cache_is_refused_in_one_line(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(ReadError) as caught:
        read_recorded_space(written(tmp_path, data))
    assert "\n" not in str(caught.value)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(ReadError, match="a recorded space"):
            read_recorded_space(path)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_damaged_one_is_read_or_refused_and_no_more(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    text = bytearray(as_kernel_tuner_writes(cache()).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(text) - 1))
        if data.draw(st.booleans()):
            text[place] = data.draw(st.integers(0, 255))
        else:
            del text[place : place + data.draw(st.integers(1, 40))]
        if not text:
            break
    path = written(tmp_path_factory.mktemp("damaged"), bytes(text))
    with contextlib.suppress(RidgelineError):
        read_recorded_space(path)
